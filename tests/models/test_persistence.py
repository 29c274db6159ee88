"""A saved model comes back bit by bit, or not at all."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.bags import Bags
from overread.errors import InvalidInputError, ModelFileError, StorageError
from overread.models import (
    L1,
    RVMMIL,
    ElasticNet,
    Penalty,
    SavedModel,
    SoftMILLogisticRegression,
    SoftMILPath,
    SoftMILPathCV,
    load_model,
    save_model,
)


@pytest.fixture(scope="module")
def model(mil):
    names = [f"feature {j} é" for j in range(mil.X.shape[1])]
    bags = Bags.from_ids(pd.DataFrame(mil.X, columns=names), mil.ids)
    return SoftMILLogisticRegression(alpha=0.01, random_state=3).fit(bags, mil.y)


@pytest.fixture(scope="module")
def path_model(mil):
    return SoftMILPath(n_alphas=4).fit(mil.X, mil.y, bags=mil.ids)


@pytest.fixture(scope="module")
def saved(model, tmp_path_factory):
    return save_model(model, tmp_path_factory.mktemp("saved") / "model.json").read_bytes()


@pytest.fixture
def refused(tmp_path):
    """Write bytes (or a document, signed anew) to a file that must be refused for the given reason."""

    def check(content, match=None):
        file = tmp_path / "hostile.json"
        if isinstance(content, dict):
            content = signed(content)
        file.write_bytes(content)
        with pytest.raises(ModelFileError, match=match) as caught:
            load_model(file)
        assert "hostile.json" in str(caught.value)

    return check


def signed(document):
    """A file as `save_model` would write it, with a right checksum whatever the payload."""
    canonical = json.dumps(document["payload"], sort_keys=True, separators=(",", ":"))
    document["sha256"] = hashlib.sha256(canonical.encode()).hexdigest()
    return (json.dumps(document, indent=1) + "\n").encode()


def test_everything_comes_back_bit_by_bit(model, saved, tmp_path, mil):
    file = model.save(tmp_path / "a.json")
    again = SoftMILLogisticRegression.load(str(file))
    assert file.read_bytes() == saved
    assert again.save(tmp_path / "b.json").read_bytes() == saved
    assert again.get_params() == model.get_params()
    assert again.fit_report_ == model.fit_report_
    assert again.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    for name in ("coef_", "intercept_", "mean_", "scale_", "classes_"):
        before, after = getattr(model, name), getattr(again, name)
        assert (after.dtype, after.shape, after.tobytes()) == (before.dtype, before.shape, before.tobytes())
    bags = mil.bags
    for method in ("predict_proba", "predict_log_proba", "decision_function", "predict"):
        assert getattr(again, method)(bags).tobytes() == getattr(model, method)(bags).tobytes()
    assert set(vars(again)) == set(vars(model))


def test_a_path_comes_back_too(path_model, tmp_path, mil):
    again = load_model(path_model.save(tmp_path / "path.json"))
    assert isinstance(again, SoftMILPath)
    assert again.fit_reports_ == path_model.fit_reports_
    bags = mil.bags
    assert again.decision_function(bags).tobytes() == path_model.decision_function(bags).tobytes()
    assert again.model(2).coef_.tobytes() == path_model.model(2).coef_.tobytes()
    assert set(vars(again)) == set(vars(path_model))


@pytest.mark.parametrize("penalty", [L1(), ElasticNet(0.25), "elastic_net"])
@pytest.mark.parametrize("kind", [SoftMILLogisticRegression, SoftMILPath])
def test_a_penalty_comes_back(kind, penalty, mil, tmp_path):
    fitted = kind(penalty=penalty).fit(mil.X, mil.y, bags=mil.ids)
    file = fitted.save(tmp_path / "model.json")
    again = load_model(file)
    assert again.penalty == penalty
    assert again.decision_function(mil.bags).tobytes() == fitted.decision_function(mil.bags).tobytes()
    assert again.save(tmp_path / "again.json").read_bytes() == file.read_bytes()


@pytest.mark.parametrize("name", ["soft_model_schema_1.json", "soft_path_schema_1.json"])
def test_files_from_before_there_were_penalties_are_read(name, tmp_path):
    file = Path(__file__).parents[1] / "golden" / name
    old = json.loads(file.read_bytes())["payload"]
    assert "penalty" not in old["parameters"]
    model = load_model(file)
    assert model.penalty == "l1"
    new = json.loads(model.save(tmp_path / "new.json").read_bytes())["payload"]
    assert (new["parameters"], new["fitted"]) == (old["parameters"], old["fitted"])


def test_a_penalty_that_nobody_knows_cannot_be_saved(mil, tmp_path):
    class Own(Penalty):
        name = "l1"
        kink = 1.0

        def value(self, w):
            return float(np.abs(w).sum())

    fitted = SoftMILLogisticRegression(0.01, penalty=Own()).fit(mil.X, mil.y, bags=mil.ids)
    with pytest.raises(InvalidInputError, match="the parameter penalty is a Own"):
        fitted.save(tmp_path / "model.json")


def test_a_path_with_an_array_of_lambdas(mil, tmp_path):
    path = SoftMILPath(alphas=np.array([0.05, 0.2])).fit(mil.X, mil.y, bags=mil.ids)
    assert load_model(path.save(tmp_path / "p.json")).alphas == [0.05, 0.2]


@pytest.mark.parametrize(
    "classes",
    [
        np.array([3, 7]),
        np.array([3, 7], dtype=np.int8),
        np.array([0, 2**64 - 1], dtype=np.uint64),
        np.array([-0.1, 0.3]),
        np.array([0.1, 0.3], dtype=np.float32),
        np.array([False, True]),
        np.array(["healthy", "nodule é"]),
        np.array(["", "1"], dtype=object),
    ],
    ids=lambda classes: classes.dtype.str,
)
def test_classes_keep_their_type(classes, mil, tmp_path):
    hard = (mil.y > 0).astype(int)
    model = SoftMILLogisticRegression(alpha=0.02).fit(mil.X, hard, bags=mil.ids)
    model.classes_ = classes
    again = load_model(model.save(tmp_path / "m.json"))
    assert again.classes_.dtype == classes.dtype
    assert [type(value) for value in again.classes_.tolist()] == [type(value) for value in classes.tolist()]
    assert again.classes_.tolist() == classes.tolist()
    assert again.predict(mil.X, bags=mil.ids).tolist() == model.predict(mil.X, bags=mil.ids).tolist()


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=6, max_size=6))
def test_any_finite_coefficient_comes_back(model, tmp_path_factory, values):
    folder = tmp_path_factory.mktemp("floats")
    copy = load_model(model.save(folder / "m.json"))
    copy.coef_ = np.array([values])
    assert load_model(copy.save(folder / "m.json")).coef_.tobytes() == copy.coef_.tobytes()


@pytest.mark.parametrize("bits", [(0, 5), pytest.param((1, 2, 3, 4, 6, 7), marks=pytest.mark.slow)])
def test_every_single_bit_counts(saved, tmp_path, bits):
    file = tmp_path / "flipped.json"
    random = np.random.default_rng(0)
    positions = np.unique(np.concatenate([np.arange(200), random.integers(0, len(saved), 200)]))
    exponents = [i for i in range(len(saved)) if saved[i : i + 1] in (b"e", b"E")]
    for position in np.union1d(positions, exponents):
        for bit in bits:
            damaged = bytearray(saved)
            damaged[position] ^= 1 << bit
            file.write_bytes(damaged)
            with pytest.raises(ModelFileError):
                load_model(file)


def test_truncated_anywhere(saved, refused):
    for length in np.linspace(0, len(saved) - 1, 60).astype(int):
        refused(saved[:length])


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "not JSON"),
        (b"\x00" * 100, "not JSON"),
        (b"\xff\xfe{}", "not JSON"),
        (b"coef = 1", "not JSON"),
        (b"[]", "not a model"),
        (b"3", "not a model"),
        (b"{}", "not a model"),
        (b'{"format": "overread-model"}', "schema None"),
        (b"[" * 100_000, "nested"),
        (b'{"a":' * 100_000, "nested"),
        (b"[" * 400 + b"]" * 400, "not a model"),
        (b"1" * 10_000, "not JSON"),
        (b"1e999", "too large for a float64"),
        (b"NaN", "NaN"),
        (b'{"a": -Infinity}', "Infinity"),
        (b'{"a": 1, "a": 2}', "'a' occurs twice"),
    ],
    ids=lambda value: repr(value[:20]),
)
def test_not_a_model_file(content, match, refused):
    refused(content, match)


def test_text_around_the_model(saved, refused):
    refused(saved + b"x")
    refused(saved + b"\n", "spelling")
    refused(b" " + saved, "spelling")
    refused(saved.replace(b"\n", b"\r\n"), "spelling")
    refused(b"\xef\xbb\xbf" + saved)


@pytest.mark.parametrize("schema", [0, 2, 1.0, True, "1", None, [1]])
def test_another_schema(saved, schema, refused):
    document = json.loads(saved)
    document["schema"] = schema
    refused(document, "schema")


def test_a_document_with_other_keys(saved, refused):
    refused({**json.loads(saved), "note": 1}, "note: is not known")
    document = json.loads(saved)
    document["payload"]["extra"] = 1
    refused(document, "extra: is not known")


def test_deep_nesting_with_a_right_checksum(saved, refused):
    document = json.loads(saved)
    deep = 0
    for _ in range(600):
        deep = [deep]
    document["payload"]["parameters"]["lam"] = deep
    refused(document)


def _change(document, path, value):
    *inner, last = path.split(".")
    for name in inner:
        document = document[int(name) if isinstance(document, list) else name]
    if value is DELETE:
        del document[last]
    else:
        document[last] = value


DELETE = object()


@pytest.mark.parametrize(
    ("path", "value", "match"),
    [
        ("kind", "Unknown", "none of .* has to be imported before its file"),
        ("kind", 3, "kind"),
        ("kind", "SoftMILPath", "parameters"),
        ("parameters", [], "object"),
        ("parameters.lam", {"a": 1}, "parameters.lam"),
        ("parameters.lam", DELETE, "lam: is missing"),
        ("parameters.extra", 1, "extra: is not known"),
        ("parameters.penalty", "l1", "is the default"),
        ("parameters.penalty", {"name": "l2"}, "parameters.penalty: must be"),
        ("parameters.penalty", {"name": ["l1"]}, "parameters.penalty: must be"),
        ("parameters.penalty", {"name": "elastic_net"}, "l1_ratio: is missing"),
        ("parameters.penalty", {"name": "elastic_net", "l1_ratio": 2.0}, "is not a penalty"),
        ("parameters.penalty", {"name": "elastic_net", "l1_ratio": [0.5]}, "is not a penalty"),
        ("parameters.penalty", {"name": "l1", "l1_ratio": 0.5}, "l1_ratio: is not known"),
        ("fitted", None, "object"),
        ("fitted.coef_", DELETE, "coef_: is missing"),
        ("fitted.extra_", 1, "extra_: is not known"),
        ("fitted.coef_", None, "coef_"),
        ("fitted.coef_", [[1.0, 2.0]], "coef_"),
        ("fitted.coef_", [[1, 2, 3, 4, 5, 6]], "coef_.*not have the form that `save_model` writes"),
        ("fitted.coef_", [["1.0"] * 6], "coef_.*list of numbers"),
        ("fitted.coef_", [1.0] * 6, "coef_"),
        ("fitted.coef_", [[1.0] * 6] * 2, "coef_"),
        ("fitted.intercept_", 1.0, "list"),
        ("fitted.intercept_", [[1.0, 5.0]], "list of 1 dimensions"),
        ("fitted.intercept_", [[[1.0]]], "list of 1 dimensions"),
        ("fitted.n_features_in_", 7, "items"),
        ("fitted.n_features_in_", 6.0, "int"),
        ("fitted.n_features_in_", True, "int"),
        ("fitted.fitted_with_bags_", 1, "bool"),
        ("fitted.feature_names_in_", ["a"] * 6, "twice"),
        ("fitted.feature_names_in_", ["a", "b"], "items"),
        ("fitted.feature_names_in_", "abcdef", "list of texts"),
        ("fitted.lam_", True, "float"),
        ("fitted.fit_report_", [], "object"),
        ("fitted.fit_report_.loss", DELETE, "loss: is missing"),
        ("fitted.fit_report_.other", 1.0, "other: is not known"),
        ("fitted.fit_report_.converged", "yes", "bool"),
        ("fitted.fit_report_.start_objectives", 1.0, "list"),
        ("fitted.classes_", [0, 1], "object"),
        ("fitted.classes_", {"dtype": "<i8", "values": [0, 1, 2]}, "two"),
        ("fitted.classes_", {"dtype": "<i8", "values": [0, 1.5]}, "type"),
        ("fitted.classes_", {"dtype": "<i8", "values": [0, True]}, "type"),
        ("fitted.classes_", {"dtype": "|i1", "values": [0, 1000]}, "classes_"),
        ("fitted.classes_", {"dtype": "<U1", "values": ["a", "bc"]}, "type"),
        ("fitted.classes_", {"dtype": "|O", "values": [{}, {}]}, "text"),
        ("fitted.classes_", {"dtype": "<M8[s]", "values": [0, 1]}, "type"),
        ("fitted.classes_", {"dtype": "i8,i8", "values": [0, 1]}, "classes_"),
        ("fitted.classes_", {"dtype": "nonsense", "values": [0, 1]}, "classes_"),
        ("fitted.classes_", {"dtype": 3, "values": [0, 1]}, "dtype"),
    ],
)
def test_a_right_checksum_does_not_excuse_a_wrong_content(saved, path, value, match, refused):
    document = json.loads(saved)
    _change(document["payload"], path, value)
    refused(document, match)


def test_another_kind_than_asked_for(path_model, tmp_path):
    file = path_model.save(tmp_path / "path.json")
    with pytest.raises(ModelFileError, match="holds a SoftMILPath, not a SoftMILLogisticRegression"):
        SoftMILLogisticRegression.load(file)


def test_files_that_are_not_there(model, tmp_path):
    with pytest.raises(StorageError, match=r"nothing\.json"):
        load_model(tmp_path / "nothing.json")
    with pytest.raises(StorageError):
        load_model(tmp_path)
    with pytest.raises(StorageError):
        model.save(tmp_path / "no folder" / "model.json")


def test_a_file_too_large_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("overread.models._saving.LARGEST_FILE", 10)
    (tmp_path / "large.json").write_bytes(b"[" * 11)
    with pytest.raises(ModelFileError, match="larger"):
        load_model(tmp_path / "large.json")


def test_what_cannot_be_saved(model, mil, tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        SoftMILLogisticRegression().save(tmp_path / "m.json")
    copy = load_model(model.save(tmp_path / "m.json"))
    copy.coef_ = np.full((1, 6), np.inf)
    with pytest.raises(InvalidInputError, match="infinity"):
        copy.save(tmp_path / "m.json")
    copy = load_model(tmp_path / "m.json")
    copy.random_state = np.random.RandomState(0)
    with pytest.raises(InvalidInputError, match=r"random_state.*seed"):
        copy.save(tmp_path / "m.json")
    copy.random_state = None
    copy.classes_ = np.array([1 + 2j, 3])
    with pytest.raises(InvalidInputError, match="classes of type complex"):
        copy.save(tmp_path / "m.json")
    assert load_model(tmp_path / "m.json").fit_report_ == model.fit_report_
    assert [file.name for file in tmp_path.iterdir()] == ["m.json"]


def test_another_class_registers_a_kind_of_its_own(mil, tmp_path):
    class Twin(SoftMILLogisticRegression):
        pass

    twin = Twin(alpha=0.05).fit(mil.X, mil.y, bags=mil.ids)
    with pytest.raises(InvalidInputError, match='kind="Twin"'):
        twin.save(tmp_path / "twin.json")

    class Registered(SoftMILLogisticRegression, kind="a kind of the tests"):
        pass

    registered = Registered(alpha=0.05).fit(mil.X, mil.y, bags=mil.ids)
    assert type(load_model(registered.save(tmp_path / "r.json"))) is Registered
    with pytest.raises(TypeError, match="already"):

        class Usurper(SavedModel, kind="SoftMILPath"):
            pass


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        (SoftMILLogisticRegression, "lam", "alpha"),
        (SoftMILPath, "lambdas", "alphas"),
        (SoftMILPath, "n_lambdas", "n_alphas"),
    ],
)
def test_the_names_of_version_0_2_are_refused_with_the_new_ones(kind, old, new):
    with pytest.raises(InvalidInputError, match=f"{old} is called {new} since"):
        kind(**{old: 1})


@pytest.mark.parametrize(
    "model", [SoftMILLogisticRegression(), pytest.param(RVMMIL(), marks=pytest.mark.slow)]
)
def test_a_model_is_loaded_by_a_process_that_has_imported_no_class(model, mil, tmp_path):
    path = save_model(model.fit(mil.X, mil.y > 0.5, bags=mil.ids), tmp_path / "model.json")
    code = f"import overread; print(type(overread.load_model({str(path)!r})).__name__)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.split() == [type(model).__name__]


def test_a_search_for_the_penalty_says_what_to_save(mil, tmp_path):
    with pytest.raises(InvalidInputError, match="save its best_estimator_"):
        save_model(
            SoftMILPathCV(n_alphas=3, cv=2).fit(Bags.from_ids(mil.X, mil.ids), mil.y), tmp_path / "cv.json"
        )
