"""Boosted trees on instances, for comparison with models that are weighted sums.

The trees are grown by scikit-learn's histogram gradient boosting and kept as plain arrays, so that a saved model is
JSON like any other and is scored without scikit-learn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from overread.bags import Bags
from overread.errors import InvalidInputError
from overread.models._base import BagClassifier, read_bags
from overread.models._kernels import sum_trees
from overread.models._problem import check_number
from overread.models._saving import BAG_FIELDS, Field, Float, FloatArray, IntegerArray, SavedModel
from overread.models.loss._bag_loss import PoolingName, find_pooling, weigh_bags

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
NODE_FIELDS = ("feature_", "threshold_", "left_", "right_", "value_", "missing_left_")


@dataclass(eq=False, repr=False)
class BoostedBags(SavedModel, BagClassifier, kind="BoostedBags"):
    """Gradient boosted trees on instances; the probability of a bag is pooled from those of its instances.

    Every instance takes the label of its bag: one of label p counts as a positive of weight p and as a negative of
    weight 1 - p, and the instances of a bag share its weight. So the trees learn on instances, not on bags as the
    other models do; noisy-or puts the bag together again.

    Parameters
    ----------
    n_trees : int, default 100
        Rounds of boosting.
    learning_rate : float, default 0.1
        Share of each tree that is kept.
    max_leaves : int, default 15
        Most leaves of a tree.
    min_instances : int, default 20
        Fewest instances of a leaf.
    l2 : float, default 1.0
        Penalty on the leaves' values.
    pooling : str, default "noisy_or"
        As in `SoftMILLogisticRegression`.
    random_state : int, optional
        Seed of the trees.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two classes.
    feature_, threshold_, left_, right_, value_, missing_left_ : ndarray of shape (n_nodes,)
        The nodes of all trees, one entry a node: instances with a value of the feature at most the threshold go
        left; a leaf has the feature -1 and a value.
    roots_ : ndarray of shape (n_trees,)
        First node of each tree.
    baseline_ : float
        Score before the first tree.
    gains_ : ndarray of shape (d,)
        Gain of the loss by each feature, summed over the splits on it.

    Examples
    --------
    >>> import numpy as np
    >>> from overread import BoostedBags
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> model = BoostedBags(n_trees=5, min_instances=5).fit(X, (X[:, 1] ** 2 > 1).astype(int))
    >>> int(model.gains_.argmax())
    1
    """

    _saved_fields: ClassVar[Mapping[str, Field]] = {
        **BAG_FIELDS,
        "feature_": IntegerArray("n"),
        "threshold_": FloatArray("n"),
        "left_": IntegerArray("n"),
        "right_": IntegerArray("n"),
        "value_": FloatArray("n"),
        "missing_left_": IntegerArray("n"),
        "roots_": IntegerArray("t"),
        "baseline_": Float(),
        "gains_": FloatArray("d"),
    }

    n_trees: int = 100
    _: KW_ONLY
    learning_rate: float = 0.1
    max_leaves: int = 15
    min_instances: int = 20
    l2: float = 1.0
    pooling: PoolingName = "noisy_or"
    random_state: int | None = None

    def fit(self, X: Any, y: Any, *, bags: Any = None, sample_weight: Any = None) -> BoostedBags:
        """Grow the trees.

        Parameters
        ----------
        X : Bags, array-like or pandas.DataFrame
            Bags, or instances of shape (n_instances, n_features).
        y : array-like of shape (n_bags,)
            Two classes, or soft labels in [0, 1].
        bags : array-like of shape (n_instances,), optional
            The bag of each row of a matrix; None makes every row its own bag.
        sample_weight : array-like of shape (n_bags,), optional
            Weight of each bag, times the readers' weight that `Bags` may carry.
        """
        find_pooling(self.pooling)
        count = partial(check_number, integer=True)
        trees = HistGradientBoostingClassifier(
            max_iter=int(count(self.n_trees, "n_trees", low=1)),
            learning_rate=check_number(self.learning_rate, "learning_rate", low=np.finfo(float).tiny),
            max_leaf_nodes=int(count(self.max_leaves, "max_leaves", low=2)),
            min_samples_leaf=int(count(self.min_instances, "min_instances", low=1)),
            l2_regularization=check_number(self.l2, "l2"),
            early_stopping=False,
            random_state=self.random_state,
        )
        given = read_bags(self, X, bags, reset=True)
        weighed = weigh_bags(given, y, sample_weight=sample_weight, reader_weight=None, normalization="bags")
        self.classes_ = weighed.labels.classes
        instances, hard, weight = _weigh_instances(given, weighed.labels.probability, weighed.weight)
        if len(np.unique(hard)) < 2:
            raise InvalidInputError("there is one class only: trees need instances of both")
        self._keep(trees.fit(instances, hard, sample_weight=weight))
        return self

    @property
    def support_(self) -> NDArray[np.intp]:
        """Columns that some tree splits on."""
        return np.unique(self.feature_[self.feature_ >= 0])

    @property
    def n_features_(self) -> int:
        """Number of features that some tree splits on."""
        return len(self.support_)

    def decision_on_support(self, X: NDArray[np.floating]) -> Floats:
        """Score instances from their used columns alone."""
        place = np.full(self.n_features_in_ + 1, -1, dtype=np.int64)
        place[self.support_] = np.arange(self.n_features_)
        nodes = [getattr(self, name) for name in NODE_FIELDS]
        nodes[0] = place[self.feature_]
        return sum_trees(np.ascontiguousarray(X, dtype=np.float64), self.roots_, *nodes) + self.baseline_

    def _keep(self, grown: HistGradientBoostingClassifier) -> None:
        """Copy the trees into plain arrays, without scikit-learn's classes."""
        trees = [stage[0].nodes for stage in grown._predictors]
        sizes = np.array([len(nodes) for nodes in trees])
        self.roots_ = np.cumsum(sizes) - sizes
        nodes = np.concatenate(trees)
        first = np.repeat(self.roots_, sizes)
        leaf = nodes["is_leaf"].astype(bool)
        self.feature_ = np.where(leaf, -1, nodes["feature_idx"]).astype(np.int64)
        # A split that sends all values left and only missing ones right has the threshold infinity.
        limits = np.nan_to_num(nodes["num_threshold"], posinf=np.finfo(np.float64).max)
        self.threshold_ = np.where(leaf, 0.0, limits)
        self.left_ = np.where(leaf, -1, nodes["left"].astype(np.int64) + first)
        self.right_ = np.where(leaf, -1, nodes["right"].astype(np.int64) + first)
        self.value_ = np.where(leaf, nodes["value"], 0.0)
        self.missing_left_ = nodes["missing_go_to_left"].astype(np.int64)
        self.baseline_ = float(np.ravel(grown._baseline_prediction)[0])
        self.gains_ = np.zeros(self.n_features_in_)
        np.add.at(self.gains_, self.feature_[~leaf], nodes["gain"][~leaf])


def _weigh_instances(
    bags: Bags, probability: Floats, weight: Floats
) -> tuple[NDArray[np.floating], Ints, Floats]:
    """Return instances with hard labels and weights that say what soft ones say.

    An instance between 0 and 1 is there twice, as a positive and as a negative.
    """
    soft = np.repeat(probability, bags.sizes)
    share = np.repeat(weight / bags.sizes, bags.sizes)
    twice = np.flatnonzero((soft > 0) & (soft < 1))
    instances = np.concatenate([bags.instances, bags.instances[twice]]) if len(twice) else bags.instances
    hard = np.concatenate([soft > 0, np.zeros(len(twice), dtype=bool)]).astype(np.int64)
    weights = np.concatenate([np.where(soft > 0, soft, 1.0) * share, (1.0 - soft[twice]) * share[twice]])
    # scikit-learn's minimal leaf and penalty are meant for weights of about 1. Equal weights become exactly 1, by
    # way of the largest: splits of equal gain are common, and the last bit of a weight would decide between them.
    weights /= weights.max()
    return instances, hard, weights * (len(weights) / weights.sum())
