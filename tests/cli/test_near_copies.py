"""Copies that differ in a bit, or of which only features are there, are refused under another patient."""

import json
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pytest

from overread.cli import main
from overread.errors import LeakageError
from overread.study._near_copies import compare_rows, refuse_copies
from overread.tables import ColumnTable, open_columns
from study_stand_in import LIGHT, make_study

N_IMAGES = 6


@pytest.fixture
def flipped(tmp_path):
    """Write a study in which each image comes again under another patient, with one bit flipped."""
    folder = make_study(tmp_path / "study", n_images=N_IMAGES, settings=LIGHT + '[region]\nkind = "all"\n')
    for kind in ("images", "readings", "marks"):
        table = pd.read_csv(folder / f"{kind}.csv", dtype=str)
        again = table.assign(image_id="Z " + table["image_id"])
        if kind == "images":
            again["patient_id"] = "Z " + table["patient_id"]
            again["path"] = table["path"].str.replace("images/", "images/Z", regex=False)
            for path, copy in zip(table["path"], again["path"], strict=True):
                pixels = cv2.imread(str(folder / path), cv2.IMREAD_GRAYSCALE)
                pixels[0, 0] ^= 1
                cv2.imwrite(str(folder / copy), pixels)
        pd.concat([table, again]).to_csv(folder / f"{kind}.csv", index=False)
    return folder


def test_a_flipped_bit_in_each_copy_is_refused(flipped, capsys):
    assert main(["run", str(flipped)]) == 7
    said = " ".join(capsys.readouterr().err.split())
    assert "nearly the same picture in two parts: image 'case 000'" in said
    assert "--same-patient 'case 000=Z case 000'" in said


def test_check_names_every_copy_and_its_cure_works(flipped, capsys):
    def list_copies() -> list[str]:
        main(["check", str(flipped), "--json"])
        found = json.loads(capsys.readouterr().out)["problems"]
        return [one["message"] for one in found if "nearly the same picture" in one["message"]]

    assert [one.split("'")[1] for one in list_copies()] == [
        f"Z case {number:03d}" for number in range(N_IMAGES)
    ]
    joined = [f"--same-patient=case {number:03d}=Z case {number:03d}" for number in range(N_IMAGES)]
    assert main(["init", str(flipped), *joined]) == 0
    assert "nearly the same picture" not in capsys.readouterr().out
    assert list_copies() == []


def test_a_false_copy_can_be_answered(flipped, capsys):
    """The answer stays in images.csv, and holds for the pair alone."""
    pairs = [f"--different=case {number:03d}=Z case {number:03d}" for number in range(N_IMAGES)]
    for answers in (pairs[:2], pairs[2:5]):
        assert main(["init", str(flipped), *answers]) == 0
    assert main(["run", str(flipped)]) == 7
    said = " ".join(capsys.readouterr().err.split())
    assert "nearly the same picture in two parts: image 'case 005'" in said
    assert "more such pairs" not in said
    assert "--different" in said
    assert main(["init", str(flipped), pairs[5]]) == 0
    assert "nearly the same picture" not in capsys.readouterr().out
    main(["check", str(flipped), "--json"])
    assert "nearly the same picture" not in capsys.readouterr().out
    assert main(["init", str(flipped), "--different=case 000=nobody"]) == 2


def test_a_refusal_does_not_say_that_its_command_cures_all(tmp_path):
    ids = [f"i{number}" for number in range(24)]
    images = pd.DataFrame({"image_id": ids, "split": ["training", "test"] * 12})
    with pytest.raises(LeakageError, match="look at the first 10 of 12 pairs"):
        refuse_copies(zip(ids[::2], ids[1::2], strict=True), images, tmp_path)


@pytest.fixture
def twins(tmp_path):
    """Write own tables of noise, no pixels: every image twice, under two patients, its features to some digits."""
    random = np.random.default_rng(0)
    names = [f"i{number:02d}" for number in range(20)]
    values = random.normal(size=(len(names), 3, 30))
    images, marks, candidates, features = [], [], [], []
    for copy in ("", "z"):
        for image, rows in zip(names, values, strict=True):
            image_id = copy + image
            images.append({"image_id": image_id, "patient_id": f"p{image_id}"})
            marks += [{"image_id": image_id, "reader_id": reader, "mark_id": reader} for reader in "AB"]
            for number, row in enumerate(rows):
                key = {"image_id": image_id, "candidate_id": f"c{number}"}
                candidates.append({**key, "x_mm": 20.0 + 30 * number, "y_mm": 20.0, "radius_mm": 5.0})
                noisy = row + 1e-6 * random.normal(size=len(row))
                features.append({**key, **{f"f{column}": value for column, value in enumerate(noisy)}})
    shape = {"x_mm": 20.0, "y_mm": 20.0, "semi_major_mm": 5.0, "semi_minor_mm": 5.0, "angle_deg": 0.0}
    marks = pd.DataFrame(marks).assign(**shape)
    tables = {"images": images, "marks": marks, "candidates": candidates, "features": features}
    for name, rows in tables.items():
        pd.DataFrame(rows).to_csv(tmp_path / f"{name}.csv", index=False)
    marks[["image_id", "reader_id"]].to_csv(tmp_path / "readings.csv", index=False)
    inputs = '[inputs]\ncandidates = "candidates.csv"\nfeatures = "features.csv"\n'
    (tmp_path / "study.toml").write_text(LIGHT + inputs)
    return tmp_path


def test_duplicated_rows_of_features_are_refused(twins, capsys):
    assert main(["run", str(twins)]) == 7
    assert "the same features of candidates in two parts" in " ".join(capsys.readouterr().err.split())
    main(["check", str(twins), "--json"])
    said = [one["message"] for one in json.loads(capsys.readouterr().out)["problems"]]
    assert sum("the same features of candidates as image 'i" in one for one in said) == 20


def write_features(folder: Path, values: np.ndarray) -> ColumnTable:
    """Write features of (image, candidate, column) and open them."""
    n_images, n_candidates, n_columns = values.shape
    table = pd.DataFrame(values.reshape(-1, n_columns), columns=[f"f{column}" for column in range(n_columns)])
    table.insert(0, "image_id", np.repeat([f"i{number:03d}" for number in range(n_images)], n_candidates))
    table.insert(1, "candidate_id", np.tile(np.arange(n_candidates).astype(str), n_images))
    table.to_csv(folder / "features.csv", index=False)
    return open_columns(folder / "features.csv", "features")


@pytest.mark.parametrize("noise", [0.0, 1e-6])
@pytest.mark.parametrize("n_copies", [3, 6, 10])
def test_copies_of_features_under_many_patients_are_found(tmp_path, n_copies, noise):
    random = np.random.default_rng(0)
    values = random.normal(size=(30, 4, 12))
    values[20 : 20 + n_copies] = values[3]
    features = write_features(tmp_path, values + noise * random.normal(size=values.shape))
    pairs = compare_rows(features, {f"i{number:03d}": str(number) for number in range(30)})
    assert pairs == [("i003", f"i{20 + number:03d}") for number in range(n_copies)]


@pytest.mark.parametrize("digits", [1, 12])
@pytest.mark.parametrize(("n_images", "n_candidates"), [(100, 1), (200, 2), (50, 20)])
def test_sizes_of_lesions_that_agree_by_chance_are_not_copies(tmp_path, n_images, n_candidates, digits):
    """Four columns that all follow from one diameter, to some digits."""
    diameter = np.random.default_rng(0).uniform(4, 30, (n_images, n_candidates)).round(digits)
    values = np.stack([diameter, np.pi * diameter**2 / 4, np.pi * diameter, diameter / 2], axis=2)
    owners = {f"i{number:03d}": str(number) for number in range(n_images)}
    assert not compare_rows(write_features(tmp_path, values), owners)
