"""The flow of images: its numbers add up, and the sentences have the same ones."""

from __future__ import annotations

import re
from dataclasses import replace

from overread.report import FoundFiles, Quarantined
from overread.report._words import MOST_REASONS, lay_out_flow, tell_exclusions, tell_flow


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
        (1, "taken out of the images table after init"),
    ]
    assert found.note == "1 more file put into the images table after init"
    assert study.left_out == [(1, "cut short & broken")]


def test_sentences_have_the_numbers_of_the_chart(results):
    real = with_study(results)
    exclusions, flow = tell_exclusions(real), tell_flow(real)
    assert exclusions.startswith(
        "11 of 160 image files found by init left out by init or by hand (7 no pixels"
    )
    assert exclusions.endswith("1 of 150 images in the study left out in the run (1 cut short & broken)")
    for step in lay_out_flow(real):
        assert f"{step.n} {step.label}" in flow
    parts = [int(number) for number in re.findall(r"(?:training|validation|test) (\d+)", flow)]
    assert parts == [split.n_images for split in real.study.splits]


def test_nothing_left_out_is_said_as_such(results):
    clean = with_study(results, quarantined=[], found=FoundFiles(150, {}, 0, 0))
    assert tell_exclusions(clean) == (
        "0 of 150 image files found by init left out by init or by hand; "
        "0 of 150 images in the study left out in the run"
    )


def test_what_nobody_recorded_is_not_called_zero(results):
    unknown = with_study(results, found=None)
    assert lay_out_flow(unknown)[0].n is None
    assert tell_exclusions(unknown).startswith("before the run not recorded")
    assert "init" not in tell_flow(unknown)


def test_a_simulated_study_begins_with_its_images(results):
    simulated = with_study(results, is_simulated=True)
    assert [step.label for step in lay_out_flow(simulated)] == ["images in the study", "images used"]
    assert tell_exclusions(simulated).startswith("1 of 150 images in the study left out in the run")


def test_many_reasons_are_counted_together(results):
    given_up = [Quarantined(f"i{n}", "image", f"reason {n}") for n in range(9)]
    step = lay_out_flow(with_study(results, quarantined=given_up))[1]
    assert len(step.left_out) == MOST_REASONS
    assert step.left_out[-1] == (4, "4 other reasons")
    assert sum(n for n, _ in step.left_out) == 9
