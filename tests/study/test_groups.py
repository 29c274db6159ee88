"""Groups of labels: each has a run of its own, and one page joins them."""

import json
import re

import pandas as pd
import pytest

from overread.domains import GENERIC_FEATURES
from overread.errors import FormatError, InvalidInputError
from overread.report import read_results
from overread.study import open_run, parse_settings, read_groups, write_group_page
from overread.study._groups import split_groups
from overread.study._store import GROUPS_FILE

GROUPS = {"pale": ["pale"], "dark": ["dark"]}


@pytest.fixture(scope="module")
def runs(field_study):
    return {group: open_run(field_study / "runs" / f"main-{group}") for group in GROUPS}


def test_settings_of_a_group_keep_what_was_set():
    raw = {
        "region": {"kind": "all"},
        "labels": {"groups": GROUPS, "depression": 0.25},
        "candidates": {"polarity": {"pale": "bright", "dark": "dark"}, "limit": 9},
    }
    made = split_groups(parse_settings(raw))
    assert {group: own.labels.groups for group, own in made.items()} == {
        name: {name: [name]} for name in GROUPS
    }
    assert [own.candidates.polarity for own in made.values()] == ["bright", "dark"]
    for own in made.values():
        assert own.candidates.model_fields_set == {"polarity", "limit"}
        assert own.labels.depression == 0.25
    assert split_groups(parse_settings({})) == {}


def test_each_group_has_the_marks_of_its_labels(field_study, runs):
    marks = pd.read_csv(field_study / "marks.csv")
    for group, run in runs.items():
        assert len(run.table("marks")) == (marks["label"] == group).sum()
        assert run.settings.candidates.polarity == {"pale": "bright", "dark": "dark"}[group]
        assert run.settings.labels.groups == {group: [group]}


def test_objects_are_found_in_pictures(runs):
    """The blobs are plain to see: nearly all are reached, and the unseen ones are found at two false positives."""
    for run in runs.values():
        splits = run.results.study.splits
        reached = sum(split.n_golden_reached for split in splits) / sum(split.n_golden for split in splits)
        assert reached > 0.9
        locked = run.results.detector.locked
        there = locked[(locked["measure"] == "gt_sensitivity") & (locked["fp_target"] == 2.0)]
        assert (there["estimate"] > 0.7).all()


def test_features_are_the_generic_ones_in_words(runs):
    for run in runs.values():
        for feature in run.results.models[0].features:
            assert feature.meaning == feature.words == GENERIC_FEATURES[feature.name]


def test_lengths_are_pixels(field_study, runs):
    for run in runs.values():
        marks = pd.read_csv(field_study / "marks.csv")
        own = marks[marks["label"] == run.root.name.partition("-")[2]]
        # The tables are in pixels already, so that codes apart nothing changed.
        assert sorted(run.table("marks")["x_px"]) == pytest.approx(sorted(own["x_px"]))
        # One per cent of 180 pixels.
        assert run.settings.hits.min_semi_axis == pytest.approx(1.8)
        assert run.results.rule.endswith("at least 1.8 px")
        assert "width, px" in run.results.study.description.numbers


def test_no_page_speaks_of_chests_or_mm(field_study):
    for name in ("main", "main-pale", "main-dark"):
        page = (field_study / "runs" / name / "report.html").read_text()
        text = re.sub(r"<(style|script).*?</\1>|base64,[^\"]*|<[^>]*>", " ", page, flags=re.DOTALL)
        assert not re.findall(r"(?i)radiograph|\blungs?\b|nodule|chest|\d mm\b", text)
        assert " px" in text


def test_crops_are_in_colour(runs):
    from base64 import b64decode
    from io import BytesIO

    from PIL import Image

    pictures, settings = runs["dark"].pictures, runs["dark"].results.settings
    side = max(12 * settings["hits"]["min_semi_axis"], 2.5 * settings["evaluation"]["size_bins"][-2])
    crops = pictures.hits + pictures.misses + pictures.false_positives
    assert crops
    for crop in crops:
        with Image.open(BytesIO(b64decode(crop.png))) as image:
            assert image.mode == "RGB"
        assert crop.side == pytest.approx(side, abs=1.0)
    assert all(picture.pixels().ndim == 3 for picture in pictures.examples.values())


def test_the_page_of_all_groups_has_a_verdict_of_each(field_study, runs):
    page = (field_study / "runs" / "main" / "report.html").read_text()
    for run in runs.values():
        assert run.head.id in page
    assert read_groups(field_study / "runs" / "main") == {group: run.root for group, run in runs.items()}


def test_it_is_written_again_the_same(field_study, runs, tmp_path):
    root = field_study / "runs" / "main"
    again = write_group_page(root, read_groups(root), output=tmp_path / "again.html")
    assert again.read_bytes() == (root / "report.html").read_bytes()


def test_a_run_of_groups_has_no_results_of_its_own(field_study):
    with pytest.raises(InvalidInputError, match="several groups of labels"):
        open_run(field_study / "runs" / "main")
    assert read_results(field_study / "runs" / "main-dark" / "results.json").settings["units"] == {
        "unit": "px"
    }


@pytest.mark.parametrize("content", [[1], {"a": "../b"}, {"a": 3}])
def test_a_forged_list_of_groups_is_refused(tmp_path, content):
    (tmp_path / GROUPS_FILE).write_text(json.dumps(content))
    with pytest.raises(FormatError, match="not the list of groups"):
        read_groups(tmp_path)
    assert read_groups(tmp_path / "none") == {}
