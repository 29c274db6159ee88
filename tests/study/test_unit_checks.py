"""A warning where marks and reference sizes do not fit together."""

import pytest

from field_study import LIGHT, write_field_study
from overread.marks import scan_folder
from overread.study import Settings, check_units, read_settings_if_sound

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
