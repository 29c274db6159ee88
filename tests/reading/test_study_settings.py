"""The room follows the study's own settings."""

from __future__ import annotations

from overread.reading.study_settings import study_merging, study_name
from overread.truth.options import MergeOptions


def test_name_and_merging_are_the_study_s(tmp_path):
    folder = tmp_path / "chests"
    folder.mkdir()
    assert (study_name(folder), study_merging(folder)) == ("chests", MergeOptions())
    (folder / "study.toml").write_text('name = "Lungs"\nseed = 7\n[merging]\nt0 = 0.5\n')
    assert (study_name(folder), study_merging(folder)) == ("Lungs", MergeOptions(t0=0.5, seed=7))


def test_what_is_said_of_another_unit_is_nothing_for_marks_in_mm(tmp_path):
    (tmp_path / "study.toml").write_text(
        '[region]\nkind = "all"\n[units]\nunit = "px"\n[merging]\nfull_size_mm = 90\n'
    )
    assert study_merging(tmp_path) == MergeOptions()
