"""The pages on features: their code blocks run, their tables are those of the catalogue."""

import doctest
import re
from collections import Counter
from pathlib import Path

from overread.features import CATALOGUE

DOCS = Path(__file__).parents[2] / "docs"


def test_texture_page():
    failures, tried = doctest.testfile(str(DOCS / "explanation" / "texture.md"), module_relative=False)
    assert tried > 5
    assert failures == 0


def test_how_to_add_a_feature_family(capsys):
    page = (DOCS / "how-to" / "add_a_feature_family.md").read_text(encoding="utf-8")
    namespace = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "add_a_feature_family.md", "exec"), namespace)
    assert list(namespace["table"]) == ["candidate_id", "halo.drop", "halo.weakest_drop"]
    assert "m: mean of the grey level within R / 2" in capsys.readouterr().out
    assert len(namespace["catalogue"]) == len(CATALOGUE) + 2


def test_families_and_their_sizes_are_those_of_the_page():
    page = (DOCS / "reference" / "features.md").read_text(encoding="utf-8")
    rows = {name: int(size) for name, size in re.findall(r"^\| `(\w+)` \| (\d+) \|", page, re.MULTILINE)}
    assert rows == Counter(feature.family for feature in CATALOGUE.values())
    assert list(rows) == list(CATALOGUE.families)
