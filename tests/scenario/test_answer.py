import re

import pytest
from small_scenario import small_design
from test_results import DESIGN, fall, make_point, make_points
from test_results import PER_READER_DESIGN as PER_READER
from test_results import make_reader_points as per_reader_points

from overread.apps.scenario._page import _render_scenario, give_answers
from overread.apps.scenario._results import sum_up_points


def answers_of(rule):
    return give_answers(sum_up_points(make_points(rule), DESIGN, None))


def test_the_best_way_to_spend_a_budget_is_said():
    said = answers_of(lambda _, n, k: 0.2 + 0.1 * (n / 100) ** 0.5)
    assert "Spend readings on more images" in said[0]
    assert "How to use about 800 readings? 400 images read twice find most" in said[2]
    assert "200 images read 4 times loses" in said[2]


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (lambda _, n, k: 0.2 + 0.1 * k**0.5, ["Spend readings on more readings of an image"]),
        (
            lambda *_: 0.5,
            [
                "soft is better in 0 and worse in 0",
                "does not differ significantly from",
                "No difference between the two is shown",
            ],
        ),
        (
            lambda model, *_: 0.6 if model == "soft" else 0.4,
            ["hard ones? Better than Hard: consensus and Hard: any reader.", "in 12 and worse in 0"],
        ),
    ],
)
def test_what_was_planted_is_said(rule, told):
    said = " ".join(answers_of(rule))
    assert all(words in said for words in told)


def test_without_equal_budgets_it_does_not_pretend():
    results = sum_up_points([make_point("soft", 100, 1, seed, 0.5) for seed in range(2)], DESIGN, None)
    assert "no two of its training sets" in give_answers(results)[0]


def test_few_images_of_a_reader_are_answered():
    said = " ".join(give_answers(sum_up_points(per_reader_points(fall), PER_READER, None)))
    assert "with at most 10 images per reader (mean 75.0)" in said
    assert re.search(
        r"Dawid-Skene labels -\d+\.\d .*\(significant\), .* compared with readers who read all", said
    )
    assert "reads few images" not in " ".join(answers_of(lambda *_: 0.5))


def test_a_model_that_few_images_leave_without_a_fit_is_named():
    few = {("dawid_skene", at) for at in PER_READER.conditions if at.images_per_reader == 10}
    results = sum_up_points(per_reader_points(fall, missing=few), PER_READER, None)
    assert "Dawid-Skene labels could not be fitted to all seeds" in " ".join(give_answers(results))


def test_the_page_says_what_each_kind_of_design_cannot_tell(done, monkeypatch):
    monkeypatch.setattr("overread.apps.scenario._page.draw_scenario", lambda *_: {})

    def warnings_of(**changes):
        return _render_scenario(done, small_design(**changes), "").partition("Limitations")[2]

    run = {"kind": "run", "run": "runs/main"}
    assert "Whole readers are left out" in warnings_of(source=run, readers={"leave_out": "readers"})
    said = warnings_of(source=run)
    assert "not what more of them would contribute" in said
    assert "consensus objects of the same readers" in said
    assert "Readers are simulated" not in said
    assert "there are no tests" in warnings_of(seeds=1)
    assert "Readers are simulated" in warnings_of()
