"""The pages on features: the family of the how-to runs, tables are those of the catalogue."""

import re
from collections import Counter

from overread.features import CATALOGUE
from page_code import DOCS, run_page


def test_how_to_add_a_feature_family(capsys):
    namespace = run_page("how-to/add_a_feature_family.md")
    assert list(namespace["table"]) == ["candidate_id", "halo.drop", "halo.weakest_drop"]
    assert "m: mean of the grey level within R / 2" in capsys.readouterr().out
    assert len(namespace["catalogue"]) == len(CATALOGUE) + 2


def test_families_and_their_sizes_are_those_of_the_page():
    page = (DOCS / "reference" / "features.md").read_text(encoding="utf-8")
    rows = {name: int(size) for name, size in re.findall(r"^\| `(\w+)` \| (\d+) \|", page, re.MULTILINE)}
    assert rows == Counter(feature.family for feature in CATALOGUE.values())
    assert list(rows) == list(CATALOGUE.families)
