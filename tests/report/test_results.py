"""Which run a page shows."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime

import pandas as pd
import pytest

from overread.errors import FormatError
from overread.files import to_json
from overread.report import Quarantined, head_run, read_results
from overread.report._words import MOST_REASONS, find_crop_side, lay_out_flow, name_object, name_unit


@pytest.fixture
def stored(results, tmp_path):
    path = tmp_path / "results.json"
    path.write_text(json.dumps(to_json(results), allow_nan=False))
    return path


def test_results_are_read_as_they_were_written(results, stored):
    found = read_results(stored)
    assert to_json(found) == to_json(results)
    first, again = results.models[0].counted[0].test.band, found.models[0].counted[0].test.band
    pd.testing.assert_frame_equal(
        again[["fp_target", "estimate", "lower"]], first[["fp_target", "estimate", "lower"]]
    )
    assert found.model("noisy").title == "Noisy"


def test_another_schema_and_another_type_are_refused_with_their_place(stored):
    content = json.loads(stored.read_text())
    stored.write_text(json.dumps(content | {"schema": "overread.results/1"}))
    with pytest.raises(FormatError, match="run the study again"):
        read_results(stored)
    content["study"]["n_images"] = "many"
    stored.write_text(json.dumps(content))
    with pytest.raises(FormatError, match=r"results\.json\.study\.n_images: 'many'"):
        read_results(stored)


def test_the_id_is_that_of_the_results() -> None:
    one, same, other = (head_run("s", "main", {"a": value}) for value in (1, 1, 2))
    assert one.id == same.id != other.id
    assert re.fullmatch(r"[0-9a-f]{12}", one.id)


def test_the_date_can_be_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86399")
    assert head_run("s", "main", {}).date == "1970-01-01"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert head_run("s", "main", {}).date == "1970-01-02"


@pytest.mark.parametrize("nothing", ["", "soon"])
def test_else_it_is_today(monkeypatch: pytest.MonkeyPatch, nothing: str) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", nothing)
    before = datetime.now(UTC).date().isoformat()
    assert before <= head_run("s", "main", {}).date <= datetime.now(UTC).date().isoformat()


def with_study(results, **changes):
    return replace(results, study=replace(results.study, **{"is_simulated": False, **changes}))


def test_what_comes_in_goes_on_or_is_left_out(results):
    # As `init` counts: 160 found, 10 left out, 1 taken out later, 1 put in later: 150 images.
    real = with_study(results)
    found, study, used = lay_out_flow(real)
    assert found.n - sum(n for n, _ in found.left_out) + 1 == study.n == real.study.n_images
    assert study.n - sum(n for n, _ in study.left_out) == used.n
    assert found.left_out == [
        (7, "no pixels & no hope"),
        (3, "no spacing"),
        (1, "removed from the images table after init"),
    ]
    assert found.note == "1 more file added to the images table after init"
    assert study.left_out == [(1, "cut short & broken")]


def test_many_reasons_are_counted_together(results):
    given_up = [Quarantined(f"i{n}", "image", f"reason {n}") for n in range(9)]
    step = lay_out_flow(with_study(results, quarantined=given_up))[1]
    assert len(step.left_out) == MOST_REASONS
    assert step.left_out[-1] == (4, "4 other reasons")
    assert sum(n for n, _ in step.left_out) == 9


def in_pixels(results, **hits):
    told = {"region": {"kind": "all"}, "units": {"unit": "px"}}
    return replace(
        results, unit="px", settings=results.settings | told | {"hits": {"min_semi_axis": 15.0} | hits}
    )


def test_a_study_that_says_nothing_is_of_chests_in_mm(results):
    assert (name_unit(results), name_object(results), find_crop_side(results)) == ("mm", "nodule", 60.0)


def test_pictures_have_their_unit_and_crops_of_twelve_least_semi_axes(results):
    pictures = in_pixels(results)
    assert (name_unit(pictures), name_object(pictures)) == ("px", "object")
    assert find_crop_side(pictures) == pytest.approx(180.0)


def test_a_rule_without_a_least_semi_axis_has_crops_of_three_full_sizes(results):
    settings = {"merging": {"full_size": 200.0}}
    pictures = in_pixels(results, min_semi_axis=None)
    assert find_crop_side(replace(pictures, settings=pictures.settings | settings)) == pytest.approx(600.0)
