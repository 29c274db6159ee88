"""The exported scorer against onnxruntime, which we did not write."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from overread.errors import InvalidInputError, MissingExtraError
from overread.models import SoftMILLogisticRegression, export_onnx

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

SOFTPLUS = {
    "noisy_or": lambda z: -np.expm1(-np.logaddexp(0, z).sum()),
    "noisy_or_mean": lambda z: -np.expm1(-np.logaddexp(0, z).mean()),
    "log_sum_exp": lambda z: 1 / (1 + 1 / np.exp(z).mean()),
    "mean": lambda z: 1 / (1 + np.exp(-z.mean())),
}


@pytest.fixture
def session(tmp_path):
    def make(model):
        return onnxruntime.InferenceSession(
            str(export_onnx(model, tmp_path / "model.onnx")), providers=["CPUExecutionProvider"]
        )

    return make


@pytest.fixture(scope="module")
def model(mil):
    return SoftMILLogisticRegression(alpha=0.01).fit(mil.X, mil.y, bags=mil.ids)


@pytest.mark.parametrize("factor", [0.0, 1e-310, 1e-12, 1.0, 30.0, 1e3, 1e150, 1e300])
def test_equal_to_the_model(model, mil, session, factor):
    X = mil.X * factor
    score, probability = session(model).run(["score", "probability"], {"X": X})
    expected = model.instance_decision_function(X)
    size = np.abs(X) @ np.abs(model.coef_[0]) + np.abs(model.intercept_[0])
    assert score.dtype == probability.dtype == np.float64
    assert score.shape == probability.shape == (len(X),)
    assert (np.abs(score - expected) <= 1e-12 * size).all()
    np.testing.assert_allclose(probability, model.instance_predict_proba(X), rtol=0, atol=1e-12)


def test_the_tail_is_relatively_exact(model, mil, session):
    direction = model.coef_[0] / (model.coef_[0] @ model.coef_[0])
    z = np.linspace(-740, 740, 300)
    X = (z - model.intercept_[0])[:, None] * direction
    score, probability = session(model).run(None, {"X": X})
    np.testing.assert_allclose(score, z, rtol=0, atol=1e-11)
    reference = np.exp(-np.logaddexp(0, -score))
    np.testing.assert_allclose(probability, reference, rtol=1e-12, atol=1e-320)


def test_columns_without_a_coefficient_are_not_read(model, mil, session):
    unused = np.flatnonzero(model.coef_[0] == 0)
    assert len(unused)
    X = mil.X.copy()
    X[:, unused] = 1e308
    score, _ = session(model).run(None, {"X": X})
    assert score.tolist() == session(model).run(None, {"X": mil.X})[0].tolist()


def test_a_model_without_features(mil, session):
    model = SoftMILLogisticRegression(alpha=1e3).fit(mil.X, mil.y, bags=mil.ids)
    score, _ = session(model).run(None, {"X": mil.X})
    assert score.tolist() == model.instance_decision_function(mil.X).tolist()


@pytest.mark.parametrize("pooling", list(SOFTPLUS))
def test_the_pooling_described_in_the_file_gives_the_bags(mil, session, pooling):
    model = SoftMILLogisticRegression(alpha=0.01, pooling=pooling).fit(mil.X, mil.y, bags=mil.ids)
    running = session(model)
    metadata = running.get_modelmeta().custom_metadata_map
    assert metadata["overread.pooling"] == pooling
    assert "sum_k softplus" in metadata["overread.outside"] or pooling != "noisy_or"
    score = running.run(["score"], {"X": mil.X})[0]
    bags = [SOFTPLUS[pooling](score[mil.ids == bag]) for bag in np.unique(mil.ids)]
    np.testing.assert_allclose(bags, model.predict_proba(mil.X, bags=mil.ids)[:, 1], rtol=1e-12)


def test_names_and_classes_are_in_the_metadata(mil, session):
    frame = pd.DataFrame(mil.X, columns=list("abcdef"))
    model = SoftMILLogisticRegression(alpha=0.02).fit(frame, np.where(mil.y > 0, "yes", "no"), bags=mil.ids)
    metadata = session(model).get_modelmeta().custom_metadata_map
    assert json.loads(metadata["overread.feature_names"]) == list("abcdef")
    assert json.loads(metadata["overread.classes"]) == ["no", "yes"]


def test_the_same_model_gives_the_same_bytes(model, tmp_path):
    first = export_onnx(model, tmp_path / "a.onnx").read_bytes()
    assert export_onnx(model, tmp_path / "b.onnx").read_bytes() == first


def test_what_cannot_be_exported(model, mil, tmp_path):
    with pytest.raises(NotFittedError):
        export_onnx(SoftMILLogisticRegression(), tmp_path / "m.onnx")
    broken = SoftMILLogisticRegression(alpha=0.01).fit(mil.X, mil.y, bags=mil.ids)
    broken.coef_ = broken.coef_ * np.nan
    with pytest.raises(InvalidInputError, match="not finite"):
        export_onnx(broken, tmp_path / "m.onnx")


def test_without_onnx_the_error_says_what_to_install(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r"overread\[onnx\]") as caught:
        export_onnx(model, tmp_path / "m.onnx")
    assert isinstance(caught.value, ImportError)
    assert list(tmp_path.iterdir()) == []
