"""Marks of a study as its run merges them."""

from pathlib import Path

import pandas as pd
import pytest

from field_study import LIGHT, write_field_study
from overread.domains import ChestDomain
from overread.errors import InvalidInputError, UsageError
from overread.marks import MarkSet, scan_folder
from overread.study import (
    Settings,
    check_units,
    open_run,
    read_settings_if_sound,
    read_study_domain,
    take_study_marks,
)
from overread.tables import named, plain, scale_lengths
from overread.truth import LabelOptions, MergeOptions, merge_marks

MARKS = pd.DataFrame(
    {
        "image_id": ["a"] * 4,
        "reader_id": ["r", "s", "r", "s"],
        "mark_id": ["1", "2", "3", "4"],
        "x_mm": [100.0, 104.0, 300.0, 304.0],
        "y_mm": 50.0,
        "semi_major_mm": 20.0,
        "semi_minor_mm": 20.0,
        "angle_deg": 0.0,
        "label": ["dot", "bleeding", "disc", "disc"],
    }
)
READINGS = pd.DataFrame({"image_id": "a", "reader_id": ["r", "s"]})
IMAGES = pd.DataFrame(
    {
        "image_id": ["a"],
        "width_px": [1500.0],
        "height_px": [1000.0],
        "mm_per_px_x": [1.0],
        "mm_per_px_y": [1.0],
    }
)
TABLES = MarkSet(MARKS, READINGS, IMAGES)
SETTINGS = """
[region]
kind = "all"
[units]
unit = "{unit}"
[merging]
t0 = 0.5
[labels]
groups = {{red = ["dot", "bleeding"]}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "study.toml").write_text(SETTINGS.format(unit="px"))
    return tmp_path


def test_without_settings_marks_are_as_they_are(tmp_path: Path) -> None:
    for place in (None, tmp_path):
        found = take_study_marks(place, TABLES)
        assert found.tables.marks.equals(plain(TABLES.marks)[0])
        assert (found.options, found.labels, found.unit) == (MergeOptions(), LabelOptions(), "mm")


def test_group_unit_and_merging_are_those_of_the_settings(folder: Path) -> None:
    found = take_study_marks(folder, TABLES)
    assert found.tables.marks["label"].tolist() == ["red", "red"]
    assert (found.unit, found.options.t0) == ("px", 0.5)
    assert found.options.full_size == pytest.approx(200.0)
    (row,) = merge_marks(
        found.tables.marks, found.tables.readings, options=found.options, unit=found.unit
    ).itertuples()
    assert row.n_readers == 2


def test_labels_that_are_no_group_stay_apart(folder: Path) -> None:
    assert len(merge_marks(MARKS, READINGS)) == 3
    (folder / "study.toml").write_text('[region]\nkind = "all"\n[units]\nunit = "percent"\n')
    found = take_study_marks(folder, TABLES)
    assert found.tables.marks["x"].tolist() == pytest.approx([100 / 15, 104 / 15, 20.0, 304 / 15])
    assert found.tables.images["mm_per_px_x"].tolist() == pytest.approx([1 / 15])
    assert found.unit == "percent"


def test_what_is_asked_for_counts_more_than_the_settings(folder: Path) -> None:
    asked = take_study_marks(folder, TABLES, MergeOptions(same_reader_hits=True))
    assert asked.options.same_reader_hits
    assert asked.options.t0 == 0.5
    assert take_study_marks(folder, TABLES, MergeOptions(t0=0.4)).options.t0 == 0.4


def test_settings_that_do_not_fit_are_refused_by_name(folder: Path) -> None:
    (folder / "study.toml").write_text(SETTINGS.format(unit="px").replace('"dot"', '"spot"'))
    with pytest.raises(InvalidInputError, match="no mark has the label 'spot'"):
        take_study_marks(folder, TABLES)


IN_MM = LIGHT.replace('unit = "px"', 'unit = "mm"')
SPACING = {"mm_per_px_x": 1.0, "mm_per_px_y": 1.0}


def check(folder, settings, **columns):
    study = write_field_study(folder / "eyes", settings=settings, n_images=3, **columns)
    return list(check_units(scan_folder(study), study, read_settings_if_sound(study)))


def test_pixels_fit_by_themselves(tmp_path):
    assert check(tmp_path, LIGHT) == []


@pytest.mark.parametrize(
    ("more", "told", "cure"),
    [
        ("[hits]\nmin_semi_axis = 40.0", "is widened to at least 40 mm", "[units]"),
        ("[merging]\nfull_size = 500.0", "of full_size = 500", "[merging]"),
        ("[merging]\nfull_size = 0.5", "of full_size = 0.5", "[merging]"),
    ],
)
def test_a_reference_far_from_the_marks_is_told(tmp_path, more, told, cure):
    (problem,) = check(tmp_path, f"{IN_MM}\n{more}", **SPACING)
    assert problem.severity == "warning"
    assert told in problem.message
    assert cure in problem.remedy


def test_each_group_is_looked_at(tmp_path):
    groups = '[labels]\ngroups = {pale = ["pale"], dark = ["dark"]}\n[hits]\nmin_semi_axis = 40.0'
    problems = check(tmp_path, f"{LIGHT}\n{groups}")
    assert [problem.message.partition(":")[0] for problem in problems] == ["group pale", "group dark"]


def test_a_group_of_a_label_that_is_not_there_is_an_error(tmp_path):
    (problem,) = check(tmp_path, f'{LIGHT}\n[labels]\ngroups = {{red = ["Red"]}}')
    assert problem.severity == "error"
    assert "no mark has the label 'Red'; there are dark, pale" in problem.message


def test_settings_that_are_wrong_are_told_by_run_alone(tmp_path):
    assert read_settings_if_sound(tmp_path) == Settings()
    (tmp_path / "study.toml").write_text("[region]\nkind = 3\n")
    assert read_settings_if_sound(tmp_path) == Settings()


def test_it_finds_what_the_run_found(field_study):
    of_study = read_study_domain(field_study, "dark")
    found = pd.concat(
        of_study.domain.find(
            of_study.read(image_id, field_study / path, None), None, limit=of_study.limit
        ).assign(image_id=image_id)
        for image_id, path in pd.read_csv(field_study / "images.csv")[["image_id", "path"]].head(2).to_numpy()
    )
    kept = open_run(field_study / "runs" / "main-dark").table("candidates")
    kept = kept[kept["image_id"].isin(found["image_id"])].reset_index(drop=True)
    assert kept.equals(named(found.reset_index(drop=True), "px")[kept.columns])


def test_a_group_has_to_be_named(field_study):
    with pytest.raises(UsageError, match="--group pale or dark"):
        read_study_domain(field_study)
    with pytest.raises(UsageError, match="--group 'red': the study has pale, dark"):
        read_study_domain(field_study, "red")


def test_chests_and_plain_folders_need_no_tables(tmp_path, field_study):
    assert read_study_domain(tmp_path, finder="log").domain == ChestDomain("log")
    (tmp_path / "study.toml").write_text("")
    assert read_study_domain(tmp_path).domain == ChestDomain()
    with pytest.raises(UsageError, match="--finder: is of chests"):
        read_study_domain(field_study, "dark", "log")


def test_lengths_come_from_whatever_unit_a_table_has(tmp_path):
    """Tables at 0.5 mm a pixel, a study in per cent of the width of 180 pixels."""
    settings = LIGHT.replace('unit = "px"', 'unit = "percent"')
    study = write_field_study(
        tmp_path / "eyes", settings=settings, n_images=2, mm_per_px_x=0.5, mm_per_px_y=0.5
    )
    of_study = read_study_domain(study)
    field = of_study.read("eye00", study / "images" / "eye00.png", (0.5, 0.5))
    found = of_study.domain.find(field, None, limit=5)
    in_mm = named(scale_lengths(found, 180 * 0.5 / 100), "mm").assign(image_id="eye00")
    for table in (in_mm, named(found, "percent").assign(image_id="eye00")):
        back = of_study.from_table(table, field, (0.5, 0.5))
        for name in ("x", "y", "radius"):
            assert back[name].to_numpy() == pytest.approx(found[name].to_numpy())
