"""A model is a plug: one class, and its stages run, are tuned, fitted, scored and weighed like any other's."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pydantic
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from overread._sections import Section
from overread.bags import Bags
from overread.models import LinearBagClassifier, SavedModel
from overread.models._base import read_bags
from overread.models._saving import Classes, Field, Flag, FloatArray, Length, Names
from overread.report import read_results
from overread.study import MODELS, Settings, StudyModel
from overread.study._inputs import read_inputs
from overread.study._store import RunFolder
from overread.study.models.base import score_linearly
from overread.study.stages.plan import PREPARATION, list_views
from overread.study.stages.stage import Workspace
from study_chain import PAGE, Chain, make_workshop, plan_after_split
from study_trees import copied


class PlainSettings(Section):
    """Logistic regression on single candidates.

    Attributes
    ----------
    strengths
        Inverse penalties to try.
    """

    strengths: list[float] = pydantic.Field(default_factory=lambda: [0.01, 1.0])


class PlainModel(SavedModel, LinearBagClassifier, kind="PlainOfATest"):
    """scikit-learn's logistic regression on standardized instances, kept as weights."""

    _saved_fields: ClassVar[Mapping[str, Field]] = {
        "n_features_in_": Length("d"),
        "feature_names_in_": Names("d", optional=True),
        "classes_": Classes(),
        "fitted_with_bags_": Flag(),
        "coef_": FloatArray(1, "d"),
        "intercept_": FloatArray(1),
    }

    def __init__(self, strength: float = 1.0, pooling: str = "noisy_or") -> None:
        self.strength, self.pooling = strength, pooling

    def fit(self, X: Bags, y: Any) -> "PlainModel":
        bags = read_bags(self, X, None, reset=True)
        scaler = StandardScaler().fit(bags.instances.astype(np.float64))
        logistic = LogisticRegression(C=self.strength)
        logistic.fit(scaler.transform(bags.instances), np.repeat(np.asarray(y) > 0, bags.sizes))
        self.classes_, self.fitted_with_bags_ = np.array([0, 1]), True
        self.coef_ = logistic.coef_ / scaler.scale_
        self.intercept_ = logistic.intercept_ - self.coef_ @ scaler.mean_
        return self


class Plain(StudyModel):
    """A model of a user, in one class."""

    name = "plain"
    title = "Plain"
    summary = "Logistic regression on single candidates."
    settings = PlainSettings
    grid_settings = ("plain",)
    build_settings = ()

    def grid(self, split: Any, settings: Any) -> list[dict[str, Any]]:
        return [{"strength": strength} for strength in settings.plain.strengths]

    def build(self, parameters: Any, settings: Any) -> "PlainModel":
        return PlainModel(**parameters)


class WithPlain(Settings):
    """Settings as they are made of a registry that has this model."""

    plain: PlainSettings = PlainSettings()


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Plain:
    model = Plain()
    monkeypatch.setitem(MODELS, "plain", model)
    return model


def test_one_class_gives_a_whole_run(registered: Plain, chain: Chain, tmp_path: Path) -> None:
    study = copied(chain.study, tmp_path / "study", run=False)
    wanted = {"models": {"wanted": ["plain", "b1"], "folds": 2}}
    settings = WithPlain.model_validate(chain.settings.to_plain() | wanted)
    folder = RunFolder(study / "runs/main")
    folder.prepare()
    inputs = read_inputs(study, settings)
    workspace = Workspace(folder, settings, inputs.sources(), list_views(inputs, settings, folder))
    for stage in PREPARATION:
        workspace.run(stage)
    done = [
        stage.name
        for stage in plan_after_split(inputs, settings, workspace, make_workshop(folder))
        if stage.name not in PAGE and workspace.run(stage)
    ]
    assert [name for name in done if "plain" in name] == [
        "grid_plain", "fold_1_plain", "fold_2_plain", "tuning_plain", "plain", "calibration_plain",
    ]  # fmt: skip

    results = read_results(folder.path("results.json"))
    told = results.model("plain")
    assert (told.title, told.summary) == ("Plain", Plain.summary)
    assert told.parameters["strength"] in (0.01, 1.0)
    assert told.choice.table["strength"].tolist() == [0.01, 1.0]
    assert results.gallery.model == results.supported
    assert results.supported in ("plain", "b1")
    assert {(one.first, one.second) for one in results.comparisons} == {("plain", "b1")}

    model, matrix = workspace.load("models/plain.json"), np.load(folder.path("features.npy"))
    scores = workspace.load("tables/scores.parquet")
    expected = matrix.astype(np.float64) @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(scores["plain"], expected, rtol=0, atol=1e-9)
    points = workspace.load("operating_points.json")
    assert {point["model"] for point in points} == {"plain", "b1"}


def test_importance_is_weight_times_deviation(registered: Plain, chain: Chain) -> None:
    merged = chain.load("cohort").split("training", "validation")
    bags = merged.bags("golden")
    model = PlainModel(1.0).fit(bags, bags.labels)
    features = merged.features.read(merged.features.names).astype(np.float64)
    told = registered.weigh_features(model, merged.features)
    assert [name for name, _, _ in told] == list(features.columns)
    assert [weight for _, weight, _ in told] == pytest.approx(model.coef_[0])
    assert [value for _, _, value in told] == pytest.approx(model.coef_[0] * features.std(ddof=0).to_numpy())


def test_every_setting_is_fitted_to_the_rest_and_scores_what_is_held_out(
    registered: Plain, chain: Chain
) -> None:
    fold = chain.load("folds")[1]
    settings = WithPlain(plain=PlainSettings(strengths=[0.001, 10.0]))
    trial = registered.try_settings(registered.grid(fold.rest, settings), fold, settings)
    assert trial.scores.shape == (len(fold.held_out.candidates), 2)
    bags, features = fold.rest.bags("golden"), fold.held_out.features
    matrix = features.read(features.names).to_numpy(np.float64)
    for column, strength in enumerate((0.001, 10.0)):
        model = PlainModel(strength).fit(bags, bags.labels)
        expected = matrix @ model.coef_[0] + model.intercept_[0]
        np.testing.assert_allclose(trial.scores[:, column], expected, rtol=0, atol=1e-9)
        assert trial.n_features[column] == np.count_nonzero(model.coef_)


class TestTheRegistry:
    def test_every_model_says_what_it_is(self) -> None:
        for name, model in MODELS.items():
            assert model.name == name
            assert model.title
            assert model.summary.endswith(".")
            assert isinstance(getattr(Settings(), name), model.settings)
            assert model.labels in ("soft", "golden")

    def test_declared_settings_exist(self) -> None:
        for model in MODELS.values():
            for name in (*model.grid_settings, *model.build_settings, *model.check_settings):
                value: Any = Settings()
                for part in name.split("."):
                    value = getattr(value, part)


def test_scores_of_a_path_are_a_column_each(chain: Chain) -> None:
    features = chain.load("cohort").split("test").features
    random = np.random.default_rng(0)
    coefficients, intercepts = random.normal(size=(len(features.names), 3)), random.normal(size=3)
    coefficients[2:5] = 0.0
    matrix = features.read(features.names).to_numpy(np.float64)
    found = score_linearly(coefficients, intercepts, features)
    np.testing.assert_allclose(found, matrix @ coefficients + intercepts, rtol=0, atol=1e-9)
    np.testing.assert_allclose(score_linearly(coefficients[:, 0], intercepts[0], features), found[:, 0])


def test_columns_without_a_coefficient_are_not_read(chain: Chain) -> None:
    features = chain.load("cohort").features
    asked: list[int] = []

    class Spy:
        dtype, shape = features.store.dtype, features.store.shape

        def take(self, rows: Any, columns: Any) -> Any:
            asked.extend(columns)
            return features.store.take(rows, columns)

    coefficients = np.zeros(len(features.names))
    coefficients[[1, 4]] = 1.0
    score_linearly(coefficients, 0.0, replace(features, store=Spy()))
    assert asked == [1, 4]
