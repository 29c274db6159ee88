import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

from overread.bags import Bags
from overread.errors import InvalidInputError, ModelFileError, UsageError
from overread.files import digest_of_value
from overread.images import GRID_MM, Radiograph, SpacingSource, from_array, read_image
from overread.models import ReaderMixture
from overread.study import Detector, OperatingPoint
from overread.study._calibration import ScoreCalibration, TrainingFingerprints


@pytest.fixture
def saved(trained, tmp_path):
    return trained.detector.write(tmp_path / "detector.json")


def changed(path, change):
    """Change the payload of a detector's file and put the checksum right."""
    document = json.loads(path.read_text())
    change(document["payload"])
    document["sha256"] = digest_of_value(document["payload"])
    path.write_text(json.dumps(document))
    return path


def test_scores_are_those_of_the_model_and_in_falling_order(trained):
    path = trained.dicom[0]
    found = trained.detector.detect(read_image(path))
    table = trained.instances[path]
    names = list(trained.detector.model.feature_names_in_)
    bags = Bags.singletons(table[names].to_numpy(np.float32), feature_names=names)
    expected = pd.Series(trained.detector.model.instance_decision_function(bags), index=table["candidate_id"])
    assert found["score"].is_monotonic_decreasing
    np.testing.assert_allclose(found["score"], expected[found["candidate_id"]], rtol=0, atol=1e-6)
    # The map of the detector: slope 1.5, intercept -0.25.
    np.testing.assert_allclose(found["probability"], 1 / (1 + np.exp(-(1.5 * found["score"] - 0.25))))


@pytest.mark.parametrize("method", ["none", "rank"])
def test_without_a_map_the_probability_is_the_model_s_own_or_none(trained, method):
    """With too little to calibrate with there are ranks and no probability."""
    plain = dataclasses.replace(trained.detector, score_map=ScoreCalibration(method, 1.0, 0.0, [], [], {}))
    found = plain.detect(read_image(trained.dicom[0]))
    own = 1 / (1 + np.exp(-found["score"])) if method == "none" else np.full(len(found), np.nan)
    np.testing.assert_allclose(found["probability"], own)
    assert found["rank"].tolist() == list(range(1, len(found) + 1))
    assert found["score"].is_monotonic_decreasing


def test_contributions_add_up_to_the_score(trained):
    radiograph = read_image(trained.dicom[1])
    found = trained.detector.detect(radiograph)
    for row in found.head(3).itertuples():
        explained = trained.detector.explain(radiograph, row.candidate_id)
        assert explained.candidate.tolist() == found.loc[row.Index].tolist()
        parts = explained.contributions
        assert parts["contribution"].sum() == pytest.approx(row.score, abs=1e-6)
        assert parts["feature"].iloc[-1] == "mean candidate"
        assert set(parts["feature"].iloc[:-1]) == set(trained.detector.features)
        shares = parts["contribution"].iloc[:-1].abs().to_numpy()
        assert (np.diff(shares) <= 0).all()


def test_without_an_id_the_best_candidate_is_explained(trained):
    radiograph = read_image(trained.dicom[1])
    best = trained.detector.detect(radiograph).iloc[0]
    explained = trained.detector.explain(radiograph)
    assert explained.candidate.equals(explained.all_candidates.iloc[0])
    assert explained.candidate.to_dict() == best.to_dict()


def test_an_image_without_candidates_cannot_be_explained(trained):
    shape = (200, 200)
    flat = Radiograph(
        np.full(shape, 0.5, np.float32), 0.7, np.ones(shape, bool), SpacingSource.GIVEN, (0.7, 0.7), shape
    )
    with pytest.raises(InvalidInputError, match="nothing to explain"):
        trained.detector.explain(flat)


def test_a_saved_detector_is_the_same_and_has_the_same_bytes(trained, saved):
    model = trained.detector.model
    assert 0 < len(trained.detector.features) == np.count_nonzero(model.coef_) < len(model.feature_names_in_)
    again = Detector.read(saved)
    assert again.to_bytes() == saved.read_bytes()
    radiograph = read_image(trained.dicom[2])
    pd.testing.assert_frame_equal(
        again.detect(radiograph), trained.detector.detect(radiograph), check_exact=True
    )


def test_images_that_it_was_trained_on_are_known_in_any_format(trained, tmp_path):
    seen = TrainingFingerprints.of([str(read_image(trained.dicom[0]).pixel_hash)])
    detector = dataclasses.replace(trained.detector, seen=seen)
    again = Detector.read(detector.write(tmp_path / "detector.json"))
    assert again.to_bytes() == detector.to_bytes()
    files = [trained.dicom[0], trained.png[0], trained.dicom[1]]
    images = [read_image(path, mm_per_px=GRID_MM) for path in files]
    assert [again.was_trained_on(image) for image in images] == [True, True, False]
    assert trained.detector.was_trained_on(images[0]) is None
    # A file from before detectors knew their images.
    old = changed(tmp_path / "detector.json", lambda payload: payload.pop("seen"))
    assert Detector.read(old).seen is None


def test_shown_is_what_reaches_the_locked_threshold(trained):
    found = trained.detector.detect(read_image(trained.dicom[0]))
    threshold = trained.detector.operating_point(1).threshold
    everything = dataclasses.replace(trained.detector, repeats="count")
    assert everything.shown(found, 1).tolist() == (found["score"] >= threshold).tolist()
    with pytest.raises(UsageError, match=r"0\.5, 1, 2"):
        trained.detector.operating_point(0.7)


def test_a_detection_on_a_stronger_one_is_not_shown(trained):
    threshold = trained.detector.operating_point(1).threshold
    found = pd.DataFrame(
        [
            ("a", 50.0, 50.0, 6.0, 3.0),
            ("b", 54.0, 53.0, 4.0, 2.0),
            ("c", 60.0, 50.0, 5.0, 1.0),
            ("d", 61.0, 50.0, 20.0, 0.5),
            ("e", 150.0, 50.0, 5.0, 0.0),
            ("f", 200.0, 50.0, 5.0, -1.0),
        ],
        columns=["candidate_id", "x_mm", "y_mm", "radius_mm", "score"],
    ).assign(score=lambda rows: threshold + rows["score"])
    assert found["candidate_id"][trained.detector.shown(found, 1)].tolist() == ["a", "c", "e"]
    everything = dataclasses.replace(trained.detector, repeats="count")
    assert found["candidate_id"][everything.shown(found, 1)].tolist() == ["a", "b", "c", "d", "e"]


def test_own_candidates_are_scored(trained):
    radiograph = read_image(trained.dicom[0])
    own = pd.DataFrame({"candidate_id": ["mine"], "x_mm": [90.0], "y_mm": [150.0], "radius_mm": [6.0]})
    found = trained.detector.detect(radiograph, candidates=own)
    assert found["candidate_id"].tolist() == ["mine"]
    assert np.isfinite(found["score"]).all()


def test_another_grid_is_refused(trained):
    with pytest.raises(InvalidInputError, match=r"grid_mm=0\.7"):
        trained.detector.detect(read_image(trained.dicom[0], grid_mm=1.0))


def test_an_unknown_candidate_is_named(trained):
    with pytest.raises(UsageError, match="'c999'"):
        trained.detector.explain(read_image(trained.dicom[0]), "c999")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("repeats", "hide"),
        ("limit", 0),
        ("limit", True),
        ("limit", 10**12),
        ("name", "x" * 1_000_000),
        ("name", "\x1b[2J"),
        ("name", 5),
        ("trained_on", "a\u202eb"),
        ("verdict", "Use it\x1b[2J"),
        ("verdict", "x" * 1001),
        ("operating_points", (OperatingPoint(-1.0, 0.0),)),
        ("operating_points", (OperatingPoint(1.0, 0.0), OperatingPoint(1.0, 1.0))),
        ("operating_points", (OperatingPoint(1e9, 0.0),)),
        ("operating_points", (OperatingPoint(1.0, float("nan")),)),
        ("model", None),
    ],
)
def test_a_detector_that_makes_no_sense_is_refused(trained, field, value):
    with pytest.raises(ModelFileError):
        dataclasses.replace(trained.detector, **{field: value})


def test_the_verdict_is_carried_and_a_file_without_one_stays_as_it_is(trained, tmp_path):
    judged = dataclasses.replace(trained.detector, verdict="Do not use: it is not better than chance.")
    again = Detector.read(judged.write(tmp_path / "judged.json"))
    assert again.verdict == judged.verdict
    assert again.to_bytes() == judged.to_bytes()
    old = Detector.read(trained.detector.write(tmp_path / "old.json"))
    assert old.verdict == ""
    assert b"verdict" not in old.to_bytes()
    assert old.to_bytes() == trained.detector.to_bytes()


def test_averages_are_carried_and_a_file_without_them_explains_by_its_model(trained, tmp_path):
    detector, radiograph = trained.detector, read_image(trained.dicom[1])
    values = pd.concat(trained.instances.values())[list(detector.features)].to_numpy(np.float32)
    means = tuple(values.mean(axis=0, dtype=np.float64).tolist())
    again = Detector.read(dataclasses.replace(detector, means=means).write(tmp_path / "new.json"))
    assert again.means == means
    new, old = (one.explain(radiograph).contributions for one in (again, detector))
    np.testing.assert_allclose(new["mean"].iloc[:-1], old["mean"].iloc[:-1], rtol=1e-5, atol=1e-6)


def test_a_mixture_of_an_earlier_version_is_not_explained(trained):
    mixture = ReaderMixture()
    mixture.feature_names_in_ = np.array(trained.detector.features, dtype=object)
    mixture.coef_, mixture.intercept_ = np.ones((1, len(trained.detector.features))), np.zeros(1)
    old = dataclasses.replace(trained.detector, model=mixture)
    with pytest.raises(InvalidInputError, match="run its study again"):
        old.explain(read_image(trained.dicom[0]))


def test_every_changed_byte_is_noticed(saved):
    content = saved.read_bytes()
    for place in np.random.default_rng(0).integers(0, len(content), 60):
        wrong = bytearray(content)
        wrong[place] ^= 1
        saved.write_bytes(wrong)
        try:
            read = Detector.read(saved)
        except ModelFileError:
            continue
        # Between the values, JSON lets one kind of blank stand for another.
        assert read.to_bytes() == content


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda payload: payload.update(feature_version="0"), "version 0"),
        (lambda payload: payload.update(candidate_version="1"), "candidates of version 1"),
        (lambda payload: payload.pop("limit"), "limit"),
        (lambda payload: payload.update(operating_points=[{"fp": 1}]), "wrong kind"),
        (
            lambda payload: payload.update(operating_points=[{"fp_target": "1", "threshold": 0}]),
            "is not of type float",
        ),
        (lambda payload: payload.update(grid_mm="0.7"), "not a number"),
        (lambda payload: payload.update(grid_mm=-1.0), "grid_mm is -1: not 0.1 to 5"),
        (lambda payload: payload.update(grid_mm=1e-6), "grid_mm is 1e-06"),
        (lambda payload: payload.update(grid_mm=100.0), "grid_mm is 100"),
        (
            lambda payload: payload.update(finder="hidden"),
            "'hidden', which is not installed: install the package",
        ),
        (lambda payload: payload.update(domain="knee"), "images of the kind 'knee', which is not installed"),
        (lambda payload: payload.update(model={}), "model"),
        (lambda payload: payload.pop("score_map"), "score_map"),
        (lambda payload: payload.update(score_map={"method": "sigmoid"}), "score_map"),
        (lambda payload: payload["score_map"].update(slope=-1.0), "it falls"),
        (lambda payload: payload["score_map"].update(method="isotonic", scores=[1.0]), "not points"),
        (lambda payload: payload["score_map"].update(slope="steep"), "slope"),
        (lambda payload: payload.pop("repeats"), "repeats"),
        (lambda payload: payload.update(repeats="hide"), "neither suppress nor count"),
        (lambda payload: payload.update(seen={"salt": "0" * 64, "fingerprints": [1]}), "seen"),
        (lambda payload: payload.update(seen={"salt": "0" * 64, "fingerprints": 7}), "wrong kind"),
        (lambda payload: payload.update(seen="all"), "wrong kind"),
        (lambda payload: payload.update(means=[0.0]), "1 means of"),
        (lambda payload: payload.update(means=7), "wrong kind"),
        (lambda payload: payload.update(means="many"), "means: 'many' is not a list"),
    ],
)
def test_a_forged_file_is_refused_by_name(saved, change, told):
    with pytest.raises(ModelFileError, match=r"detector\.json") as caught:
        Detector.read(changed(saved, change))
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[1]", b"\xff\xfe", b'{"format": "overread-detector"}', b"[" * 10**5]
)
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "detector.json"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"detector\.json"):
        Detector.read(path)


def test_a_missing_file_says_what_writes_it(tmp_path):
    with pytest.raises(ModelFileError, match="overread run"):
        Detector.read(tmp_path / "detector.json")


def test_a_detector_of_pictures_is_saved_with_its_recipe_and_read_back(field_study):
    path = field_study / "runs" / "main-dark" / "detector.json"
    detector = Detector.read(path)
    assert detector.to_bytes() == path.read_bytes()
    domain = detector.domain
    assert (detector.unit, domain.target, domain.polarity) == ("px", "dark", "dark")
    assert set(detector.features) <= set(domain.feature_names)
    with pytest.raises(InvalidInputError, match="the image has no planes"):
        detector.detect(from_array(np.eye(64, dtype=np.float32), 0.7))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda payload: payload.update(finder="curvature"), "needs the candidate finder 'curvature'"),
        (lambda payload: payload.update(feature_version="0"), "features of version 0"),
        (lambda payload: payload.update(candidate_version="0"), "candidates of version 0"),
        (lambda payload: payload.pop("field"), "needs the candidate finder 'blobs'"),
        (lambda payload: payload["field"].update(finder="rings"), "its finder is not that of the detector"),
    ],
)
def test_a_detector_of_pictures_that_does_not_fit_is_refused(field_study, tmp_path, change, told):
    path = tmp_path / "detector.json"
    path.write_bytes((field_study / "runs" / "main-pale" / "detector.json").read_bytes())
    with pytest.raises(ModelFileError, match=told):
        Detector.read(changed(path, change))
