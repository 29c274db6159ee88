"""Pairs of copies are those of a plain search; what tells nothing is not compared."""

import io
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy.stats import pearsonr

from overread.errors import LeakageError
from overread.images import decode_sketch, sketch
from overread.study._near_copies import compare_rows, compare_sketches, refuse_copies
from overread.tables import open_columns


@pytest.mark.parametrize("noise", [0.0, 1e-6])
def test_rows_that_agree_are_those_of_a_plain_search(tmp_path: Path, noise: float) -> None:
    random = np.random.default_rng(0)
    values = random.normal(size=(12, 3, 30))
    matrix = np.concatenate([values, values + noise * random.normal(size=values.shape)])
    names = [f"i{number:02d}" for number in range(24)]
    table = pd.DataFrame(matrix.reshape(72, 30), columns=[f"f{column}" for column in range(30)])
    table.insert(0, "image_id", np.repeat(names, 3))
    table.insert(1, "candidate_id", ["a", "b", "c"] * 24)
    table.to_csv(tmp_path / "features.csv", index=False)
    equal = [
        (names[one], names[other])
        for other in range(24)
        for one in range(other)
        if np.abs(matrix[one] - matrix[other]).max() < 1e-4
    ]
    assert len(equal) == 12
    features = open_columns(tmp_path / "features.csv", "features")
    assert compare_rows(features, {name: name for name in names}) == equal
    assert compare_rows(features, {name: str(int(name[1:]) % 12) for name in names}) == []
    filler = table.tail(18).assign(**{f"f{column}": 0.0 for column in range(30)})
    pd.concat([table.head(54), filler]).to_csv(tmp_path / "filled.csv", index=False)
    filled = open_columns(tmp_path / "filled.csv", "features")
    assert compare_rows(filled, {name: name for name in names}) == equal[:6]


def test_a_table_of_few_values_is_not_compared(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.integers(0, 3, (200, 4)), columns=list("abcd")).astype(float)
    table.insert(0, "image_id", [f"i{row}" for row in range(200)])
    table.insert(1, "candidate_id", "c")
    table.to_csv(tmp_path / "features.csv", index=False)
    owners = {image: image for image in table["image_id"]}
    assert compare_rows(open_columns(tmp_path / "features.csv", "features"), owners) is None


def test_changed_copies_are_found_and_others_are_not() -> None:
    """Noise of many scales stands for pictures; the likeness is Pearson's correlation of centred waves."""
    random = np.random.default_rng(0)
    pictures = [
        sum(cv2.resize(random.normal(size=(side, side)), (200, 240)) for side in (4, 12, 40))
        for _ in range(12)
    ]
    pictures = [np.clip(100 + 30 * one, 0, 255).astype(np.float32) for one in pictures]
    buffer = io.BytesIO()
    Image.fromarray(pictures[0].astype(np.uint8)).save(buffer, "JPEG", quality=40)
    copies = [
        np.asarray(Image.open(buffer), np.float32),
        cv2.resize(pictures[1], None, fx=0.6, fy=0.6, interpolation=cv2.INTER_AREA),
        pictures[2] + random.normal(0, 5, pictures[2].shape).astype(np.float32),
        255 * (pictures[3] / 255) ** 0.8,
        pictures[4][2:-2, 2:-2],
    ]
    sketches = [sketch(np.asarray(one, np.float32)) for one in [*pictures, *copies]]
    expected = [(number, len(pictures) + number) for number in range(len(copies))]
    assert compare_sketches(sketches, range(len(sketches))) == expected
    assert compare_sketches(sketches, [number % len(pictures) for number in range(len(sketches))]) == []
    waves = np.stack([decode_sketch(one) for one in sketches])
    centred = waves - waves.mean(axis=0)
    assert min(pearsonr(centred[one], centred[other])[0] for one, other in expected) > 0.9
    assert compare_sketches([sketch(np.ones((70, 70), np.float32))] * 3, range(3)) == []


def test_the_command_of_a_refusal_cures_all_pairs(tmp_path: Path) -> None:
    images = pd.DataFrame({"image_id": list("abcd"), "split": ["training", "test"] * 2})
    refuse_copies([], images, tmp_path)
    with pytest.raises(
        LeakageError, match="image 'a' is in 'training', image 'b' in 'test', and 1 more"
    ) as said:
        refuse_copies([("a", "b"), ("c", "d")], images, tmp_path)
    assert "--same-patient a=b --same-patient c=d" in str(said.value)
