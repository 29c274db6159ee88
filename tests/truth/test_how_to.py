"""The code blocks of docs/how-to/add_a_hit_rule.md run in order, and the rule shows up where it should."""

import re
from pathlib import Path

import pytest

from overread.cli._froc_inputs import counting_fields
from overread.truth import HIT_RULES, hit_rule_parameters

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "add_a_hit_rule.md"


@pytest.fixture
def scope():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 3
    found = {"__name__": "how_to"}
    known = dict(HIT_RULES)
    for block in blocks:
        exec(compile(block, str(PAGE), "exec", dont_inherit=True), found)
    yield found
    HIT_RULES.clear()
    HIT_RULES.update(known)


def test_the_page_runs_and_the_commands_know_the_rule(scope):
    assert scope["rule"].describe() == "GT's centre in the candidate's disc, widened by 2 mm"
    (parameter,) = hit_rule_parameters()["disc"]
    assert (parameter.name, parameter.default) == ("slack", 0.0)
    assert "slack" in [name for name, *_ in counting_fields()]


def test_a_new_rule_leaves_the_records_of_the_others_alone(scope):
    from overread.froc import Counting

    assert "slack" not in Counting().rule_record()
    assert Counting(rule=scope["rule"]).rule_record()["slack"] == 2.0
