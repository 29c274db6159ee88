"""The counting options of the commands are those of the registry of rules and of the counting record."""

from __future__ import annotations

from dataclasses import fields

import pytest

from overread.cli._froc_inputs import CountingOptions, make_counting
from overread.errors import InvalidInputError, UsageError
from overread.froc import Counting
from overread.truth import STRICT_HIT, DistanceHit, EllipseHit, hit_rule_parameters


def test_every_rule_parameter_and_every_choice_is_an_option_with_its_default():
    parameters = {one.name for rule in hit_rule_parameters().values() for one in rule}
    assert {one.name for one in fields(CountingOptions)} == {"rule", *parameters, *Counting.choices()}
    assert make_counting(None) == make_counting(CountingOptions()) == Counting()


@pytest.mark.parametrize(
    ("given", "counting"),
    [
        ({"rule": "strict"}, Counting(rule=STRICT_HIT)),
        (
            {"margin_mm": 2.0, "single_reader": "fp"},
            Counting(rule=EllipseHit(margin_mm=2.0), single_reader="fp"),
        ),
        (
            {"rule": "distance", "max_distance_mm": 8.0, "extra_hits": "fp"},
            Counting(rule=DistanceHit(8.0), extra_hits="fp"),
        ),
    ],
)
def test_options_become_a_counting(given, counting):
    assert make_counting(CountingOptions(**given)) == counting


def test_a_parameter_of_another_rule_has_no_effect_and_is_refused():
    with pytest.raises(
        UsageError, match="--min-overlap has no effect with --rule hit; it belongs to --rule overlap"
    ):
        make_counting(CountingOptions(min_overlap=0.1))
    with pytest.raises(InvalidInputError, match="needs max_distance_mm"):
        make_counting(CountingOptions(rule="distance"))
