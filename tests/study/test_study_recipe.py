"""Commands that do a part of a run do it as the run does."""

import pandas as pd
import pytest

from field_study import LIGHT, write_field_study
from overread.domains import ChestDomain
from overread.errors import UsageError
from overread.study import open_run, read_study_domain
from overread.tables import named, scale_lengths


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
