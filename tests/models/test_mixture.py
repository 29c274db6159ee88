"""ReaderMixture: the sum of its readers, readers who do not read, and what its weights say of skill.

The bootstrap draws whole groups, and its spread is that of independent samples.
"""

import numpy as np
import pytest
from benchmarks.baseline_checks import mean_interval, rank_correlation

from overread.bags import Bags, StoredInstances, make_bags, reader_bags
from overread.errors import DataWarning, InvalidInputError
from overread.models import RVMMIL, ReaderMixture
from overread.models._mixture import bootstrap_weights
from overread.simulate import candidate_cohort
from overread.truth import merge_marks


@pytest.fixture(scope="module")
def cohort():
    return candidate_cohort(150, n_readers=4, n_features=20, n_informative=6, seed=1)


@pytest.fixture(scope="module")
def golden(cohort):
    truth = merge_marks(cohort.marks, cohort.readings)
    return make_bags(cohort.candidates, cohort.features, truth, labels="golden", images=cohort.images)


def bags_of(cohort, marks=None):
    marks = cohort.marks if marks is None else marks
    return reader_bags(cohort.candidates, cohort.features, marks, cohort.readings, images=cohort.images)


@pytest.fixture(scope="module")
def mixture(cohort, golden):
    return ReaderMixture(n_bootstrap=20).fit(golden, reader_bags=bags_of(cohort))


def test_the_mixture_is_the_sum_of_its_readers(mixture, golden):
    scores = golden.instances.astype(float) @ mixture.reader_coefs_.T + mixture.reader_intercepts_
    standard = (scores - mixture.score_means_) / mixture.score_deviations_
    np.testing.assert_allclose(standard.std(axis=0), 1.0, rtol=1e-6)
    mixed = standard @ mixture.importance_ + mixture.mixture_intercept_
    np.testing.assert_allclose(mixture.instance_decision_function(golden), mixed, atol=1e-8)
    assert mixture.n_features_ == np.count_nonzero(mixture.reader_coefs_.any(axis=0))
    table = mixture.reader_importance_
    assert (table["low"] < table["high"]).all()


def test_same_seed_same_answer_and_saving(mixture, cohort, golden, tmp_path):
    again = ReaderMixture(n_bootstrap=20).fit(golden, reader_bags=bags_of(cohort))
    np.testing.assert_array_equal(again.interval_, mixture.interval_)
    loaded = ReaderMixture.load(mixture.save(tmp_path / "b2.json"))
    np.testing.assert_array_equal(loaded.decision_function(golden), mixture.decision_function(golden))
    assert loaded.reader_importance_.equals(mixture.reader_importance_)


def test_out_of_fold_scores_differ(mixture, cohort, golden):
    fair = ReaderMixture(scores="out_of_fold", cv=3, n_bootstrap=0).fit(golden, reader_bags=bags_of(cohort))
    np.testing.assert_array_equal(fair.reader_coefs_, mixture.reader_coefs_)
    assert not np.allclose(fair.importance_, mixture.importance_)


def test_a_silent_reader_and_one_who_marks_everything_are_left_out(cohort, golden):
    readers = {name: bags for name, bags in bags_of(cohort).items() if name != "R4"}
    readers["silent"] = readers["R1"].with_labels(np.zeros(len(readers["R1"])))
    readers["eager"] = readers["R1"].with_labels(np.ones(len(readers["R1"])))
    with pytest.warns(DataWarning, match=r"silent.*eager"):
        model = ReaderMixture(n_bootstrap=0).fit(golden, reader_bags=readers)
    assert list(model.left_out_readers_) == ["silent", "eager"]
    assert list(model.reader_ids_) == ["R1", "R2", "R3"]


def test_no_reader_left_is_an_error(cohort, golden):
    bags = bags_of(cohort)["R1"]
    with (
        pytest.warns(DataWarning, match="left out"),
        pytest.raises(InvalidInputError, match="no reader has enough marks"),
    ):
        ReaderMixture().fit(golden, reader_bags={"R1": bags.with_labels(np.zeros(len(bags)))})


def test_a_reader_who_copied_another_leaves_the_answer_alone(mixture, cohort, golden):
    """Named outcome of a copy: the two share the weight of one, and the mixture predicts as before."""
    readers = dict(bags_of(cohort))
    model = ReaderMixture(n_bootstrap=0).fit(golden, reader_bags=readers | {"copy of R2": readers["R2"]})
    weight = dict(zip(model.reader_ids_, model.importance_, strict=True))
    assert weight["R2"] == pytest.approx(weight["copy of R2"], rel=1e-6)
    np.testing.assert_allclose(model.predict_proba(golden), mixture.predict_proba(golden), atol=2e-3)


def test_one_class_of_golden_labels_is_an_error(cohort, golden):
    bare = golden.with_labels(np.zeros(len(golden)))
    with pytest.raises(InvalidInputError, match="every golden label is the same"):
        ReaderMixture().fit(bare, reader_bags=bags_of(cohort))


@pytest.mark.slow
def test_importance_follows_skill_on_average():
    """Rank correlation with the planted skill, averaged over cohorts: its 95 % interval lies above 0."""
    found = [rank_correlation(seed, images=600, scores="in_sample") for seed in range(8)]
    low, high = mean_interval(found)
    assert 0 < low < np.mean(found) < high < 1


@pytest.mark.parametrize("scores", ["in_sample", "out_of_fold"])
def test_bounds_fitted_together_are_those_fitted_alone(scores, cohort, golden):
    bounds, options = (1e1, 1e6), {"scores": scores, "cv": 2, "n_bootstrap": 3}
    readers = dict(list(bags_of(cohort).items())[:2])
    together = ReaderMixture(**options).fit_each(golden, reader_bags=readers, prune_bounds=bounds)
    for bound, model in zip(bounds, together, strict=True):
        alone = ReaderMixture(prune_bound=bound, **options).fit(golden, reader_bags=readers)
        for name in ("coef_", "intercept_", "reader_coefs_", "importance_", "interval_", "n_positive_"):
            np.testing.assert_array_equal(getattr(model, name), getattr(alone, name))
        assert (model.converged_, model.n_features_) == (alone.converged_, alone.n_features_)


@pytest.mark.parametrize("scores", ["in_sample", "out_of_fold"])
def test_features_in_a_file_give_the_same_mixture(cohort, golden, tmp_path, scores):
    def store(bags, name):
        np.save(tmp_path / name, np.asfortranarray(bags.instances))
        names = bags.feature_names
        return bags.with_instances(StoredInstances(tmp_path / name), feature_names=names)

    readers = {name: bags for name, bags in bags_of(cohort).items() if name in ("R1", "R2")}
    settings = {"scores": scores, "cv": 2, "n_bootstrap": 0}
    inside = ReaderMixture(**settings).fit(golden, reader_bags=readers)
    outside = ReaderMixture(**settings, memory_mb=100_000).fit(
        store(golden, "golden.npy"),
        reader_bags={name: store(bags, f"{name}.npy") for name, bags in readers.items()},
    )
    np.testing.assert_allclose(outside.coef_, inside.coef_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(outside.importance_, inside.importance_, rtol=1e-7)


def make(seed, n_bags=120, per_group=3):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_bags, 2))
    y = (X[:, 0] + random.logistic(size=n_bags) > 0).astype(float)
    groups = np.repeat(np.arange(n_bags // per_group), per_group)
    return Bags.from_ids(X, np.arange(n_bags), groups=groups), y


def network():
    return RVMMIL(update="fixed", alpha_init=1e-3, prune_bound=1e6, standardize=False)


def test_a_draw_is_a_fit_with_groups_counted():
    bags, y = make(0)
    weights = bootstrap_weights(network(), bags, y, 2, seed=5)
    assert weights.shape == (2, 2)
    drawn = np.random.default_rng(5).multinomial(40, np.full(40, 1 / 40))
    expected = network().fit(bags, y, sample_weight=np.repeat(drawn, 3).astype(float))
    np.testing.assert_allclose(weights[0], expected.coef_[0], rtol=1e-6)
    assert np.array_equal(bootstrap_weights(network(), bags, y, 2, seed=5), weights)


def test_its_spread_is_that_of_new_samples():
    bags, y = make(1)
    spread = bootstrap_weights(network(), bags, y, 60, seed=0).std(axis=0)
    fresh = np.array([network().fit(*make(seed)).coef_[0] for seed in range(100, 160)]).std(axis=0)
    assert (spread / fresh > 0.6).all()
    assert (spread / fresh < 1.7).all()
