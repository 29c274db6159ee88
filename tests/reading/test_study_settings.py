"""The room follows the study's own settings."""

import numpy as np
import pandas as pd
import pytest

from overread.apps.room._adjudication import merge_as_study, study_name
from overread.marks import MarkSet
from overread.tables import named, plain, scale_lengths
from overread.truth import MergeOptions, merge_marks

MM = 0.25
IMAGES = pd.DataFrame(
    {"image_id": ["a", "b"], "width_px": 1000, "height_px": 800, "mm_per_px_x": MM, "mm_per_px_y": MM}
)
READINGS = pd.DataFrame(
    [(image, reader) for image in "ab" for reader in "AB"], columns=["image_id", "reader_id"]
)


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "chests"
    folder.mkdir()
    IMAGES.assign(file=IMAGES["image_id"] + ".png").to_csv(folder / "images.csv", index=False)
    return folder


def room_marks(apart_px: float, radius_px: float) -> MarkSet:
    """Two readers mark one place of each image, so many pixels apart; lengths in mm."""
    rows = [
        (image, reader, f"{image}{reader}", (100 + apart_px * (reader == "B")) * MM, 100 * MM)
        for image in "ab"
        for reader in "AB"
    ]
    marks = pd.DataFrame(rows, columns=["image_id", "reader_id", "mark_id", "x_mm", "y_mm"])
    round_ones = marks.assign(semi_major_mm=radius_px * MM, semi_minor_mm=radius_px * MM, angle_deg=0.0)
    return MarkSet(round_ones, READINGS, IMAGES[["image_id"]])


def test_the_name_is_the_study_s_else_the_folder_s(folder):
    assert study_name(folder) == "chests"
    (folder / "study.toml").write_text('name = "Lungs"\n')
    assert study_name(folder) == "Lungs"


def test_merging_follows_the_study_s_threshold(folder):
    found = room_marks(apart_px=8, radius_px=40)
    assert len(merge_as_study(folder, found)) == 2
    (folder / "study.toml").write_text("[merging]\nt0 = 0.9\n")
    assert len(merge_as_study(folder, found)) == 4


def test_a_study_in_pixels_merges_in_pixels_and_gives_the_objects_back_in_mm(folder):
    found = room_marks(apart_px=12, radius_px=10)
    pixels = named(scale_lengths(plain(found.marks)[0], 1 / MM), "px")
    # The threshold of overlap grows with size over full_size: small marks are merged where full_size is large.
    settings = '[region]\nkind = "all"\n[units]\nunit = "px"\n[merging]\nfull_size = {}\n'
    told = {}
    for full_size in (4.0, 4000.0):
        (folder / "study.toml").write_text(settings.format(full_size))
        told[full_size] = merge_as_study(folder, found)
        expected = merge_marks(pixels, READINGS, options=MergeOptions(full_size=full_size))
        assert told[full_size]["truth_id"].tolist() == expected["truth_id"].tolist()
        np.testing.assert_allclose(told[full_size]["x_mm"], expected["x_px"] * MM)
        np.testing.assert_allclose(told[full_size]["semi_major_mm"], 10 * MM)
    assert len(told[4.0]) != len(told[4000.0])


@pytest.mark.parametrize("unit", ["mm", "px"])
def test_a_room_in_which_nobody_has_marked_yet_has_no_objects(folder, unit):
    (folder / "study.toml").write_text(f'[region]\nkind = "all"\n[units]\nunit = "{unit}"\n')
    found = room_marks(apart_px=8, radius_px=40)
    assert merge_as_study(folder, MarkSet(found.marks.head(0), READINGS.head(0), found.images)).empty


def test_labels_of_a_group_need_not_have_been_used(folder):
    groups = '[labels]\ngroups = { bright = ["exudate"], dark = ["bleeding"] }\n'
    (folder / "study.toml").write_text('[region]\nkind = "all"\n' + groups)
    found = room_marks(apart_px=8, radius_px=40)
    marks = found.marks.assign(label="exudate")
    assert len(merge_as_study(folder, MarkSet(marks, READINGS, found.images))) == 2
