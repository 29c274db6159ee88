import json
from dataclasses import replace

import numpy as np
import pytest

from overread.errors import FormatError, InvalidInputError, LeakageError
from overread.froc import (
    Counting,
    LockedOperatingPoint,
    Matching,
    lock_operating_point,
    match_detections,
    operating_points,
)


@pytest.fixture
def lock(make_matching):
    return lock_operating_point(make_matching(1), fp_target=1.0, model="soft")


@pytest.fixture
def locked_file(lock, tmp_path):
    path = tmp_path / "lock.json"
    lock.write(path)
    return path


def test_round_trip(lock, locked_file):
    assert LockedOperatingPoint.read(locked_file) == lock
    assert json.loads(locked_file.read_text())["checksum"] == lock.checksum
    assert not list(locked_file.parent.glob(".*"))


def test_the_test_figures_cite_the_lock(lock, make_matching):
    test = make_matching(2)
    result = lock.evaluate(test, n_bootstrap=100)
    assert result.lock_checksum == lock.checksum
    assert result.data_sha256 == test.fingerprint()
    carried = operating_points(make_matching(1), test, fp_targets=[1.0]).iloc[1]
    rows = result.intervals.set_index("measure")
    for name in ("fp_per_image", "gt_sensitivity", "image_sensitivity"):
        assert rows.loc[name, "estimate"] == carried[name]
        assert rows.loc[name, "lower"] <= carried[name] <= rows.loc[name, "upper"]


def test_a_lock_is_never_overwritten(lock, locked_file):
    before = locked_file.read_bytes()
    with pytest.raises(InvalidInputError, match="never overwritten"):
        lock.write(locked_file)
    assert locked_file.read_bytes() == before


def test_the_data_of_the_lock_are_no_test(lock, make_matching):
    with pytest.raises(LeakageError, match="these very data"):
        lock.evaluate(make_matching(1))


def test_a_test_that_shares_an_image_or_a_patient_is_refused(make_tables):
    candidates, truth, images = make_tables(1, 30, 300, 40, 1000)
    images["patient_id"] = [f"p{k // 2}" for k in range(30)]

    def part(first, last):
        chosen = images.iloc[first:last]
        kept = [table[table["image_id"].isin(chosen["image_id"])] for table in (candidates, truth)]
        return kept[0], kept[1], chosen

    lock = lock_operating_point(match_detections(*part(0, 15)), fp_target=1.0)
    with pytest.raises(LeakageError, match="shares 5 of its 20 images"):
        lock.evaluate(match_detections(*part(10, 30)))
    with pytest.raises(LeakageError, match="shares 1 of its 8 patients"):
        lock.evaluate(match_detections(*part(15, 30)))
    apart = lock.evaluate(match_detections(*part(16, 30)), n_bootstrap=20)
    assert len(apart.intervals)
    assert "p0" not in str(lock.patient_hashes)


def test_events_with_ids_are_compared_and_events_without_are_not():
    events = {
        "n_images": 2,
        "fp_scores": [1.0, 2.0],
        "fp_images": [0, 1],
        "gt_scores": [3.0],
        "gt_images": [0],
    }
    bare = Matching.from_events(**events)
    lock = lock_operating_point(Matching.from_events(**events, image_ids=["a", "b"]), fp_target=1.0)
    assert len(lock.evaluate(bare, n_bootstrap=10).intervals)
    assert lock_operating_point(bare, fp_target=1.0).image_hashes == ()
    with pytest.raises(LeakageError, match="shares 1 of its 2 images"):
        lock.evaluate(Matching.from_events(**events, image_ids=["b", "c"]))
    for ids in (["a"], ["a", "a"], ["a", None]):
        with pytest.raises(InvalidInputError):
            Matching.from_events(**events, image_ids=ids)


def test_another_rule_or_option_is_refused(make_tables, make_matching, lock):
    tables = make_tables(1, 6, 40, 8, 100)
    strict = lock_operating_point(match_detections(*tables), fp_target=1.0)
    with pytest.raises(InvalidInputError, match="locked for"):
        strict.evaluate(match_detections(*tables, counting=Counting(single_reader="fp")))
    with pytest.raises(InvalidInputError, match="locked for"):
        lock.evaluate(match_detections(*tables))


def test_no_threshold_to_lock():
    same = Matching.from_events(
        n_images=1, fp_scores=[1.0, 1.0], fp_images=[0, 0], gt_scores=[1.0], gt_images=[0]
    )
    with pytest.raises(InvalidInputError, match="no threshold"):
        lock_operating_point(same, fp_target=1.0)


def test_without_targets_the_sensitivity_is_null(tmp_path):
    m = Matching.from_events(n_images=1, fp_scores=[1.0], fp_images=[0], gt_scores=[], gt_images=[])
    lock = lock_operating_point(m, fp_target=1.0)
    lock.write(tmp_path / "lock.json")
    assert LockedOperatingPoint.read(tmp_path / "lock.json").gt_sensitivity is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace('"fp_target": 1.0', '"fp_target": 1.5'),
        lambda text: text.replace('"fp_target": 1.0', '"fp_target": NaN'),
        lambda text: text.replace('"fp_target": 1.0', '"fp_target": 1e999'),
        lambda text: text.replace('"fp_target": 1.0', '"fp_target": 1.0, "fp_target": 1.0'),
        lambda text: text.replace("point/2", "point/1"),
        lambda text: text.replace('"model": "soft",', ""),
        lambda text: text.replace('"model"', '"other": 1, "model"'),
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[" * 100_000,
        lambda text: "[1, 2]",
        lambda text: "null",
        lambda text: "\x00{",
    ],
)
def test_a_damaged_file_is_refused(locked_file, damage):
    locked_file.write_text(damage(locked_file.read_text()))
    with pytest.raises(FormatError, match=r"lock\.json: not a locked operating point"):
        LockedOperatingPoint.read(locked_file)


def test_every_bit_flip_is_noticed(locked_file):
    good = locked_file.read_bytes()
    rng = np.random.default_rng(0)
    original = LockedOperatingPoint.read(locked_file)
    for position in rng.integers(0, len(good), 200):
        bad = bytearray(good)
        bad[position] ^= 1 << int(rng.integers(8))
        locked_file.write_bytes(bytes(bad))
        try:
            assert LockedOperatingPoint.read(locked_file) == original
        except FormatError:
            continue


@pytest.mark.parametrize(
    ("changed", "words"),
    [({"threshold": "high"}, "threshold is not a number"), ({"image_hashes": (1, 2)}, "image_hashes is not")],
)
def test_values_of_another_type_are_refused(lock, tmp_path, changed, words):
    replace(lock, **changed).write(tmp_path / "lock.json")
    with pytest.raises(FormatError, match=words):
        LockedOperatingPoint.read(tmp_path / "lock.json")
