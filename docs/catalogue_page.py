"""Write the catalogue of features as a page of the docs, from the code, so that it is never stale."""

from __future__ import annotations

from collections.abc import Iterable

from overread.features import CATALOGUE, Feature

__all__ = ["catalogue_page"]


def catalogue_page() -> str:
    """Give all features as Markdown: a table a family."""
    lines = [
        "# Catalogue of features",
        "",
        f"{len(CATALOGUE)} features, in the order of the columns of `extract`. R is the candidate's radius, rho the "
        "distance from its centre over R; grey levels are those of the normalized radiograph. "
        "[How to read and use them](features.md)",
        "",
    ]
    for family in CATALOGUE.families:
        members = CATALOGUE.family(family)
        references = dict.fromkeys(feature.reference for feature in members)
        lines += [f"## {family} ({len(members)})", "", *(f"{reference}." for reference in references), ""]
        lines += [*table(members), ""]
    return "\n".join(lines)


def table(features: Iterable[Feature]) -> list[str]:
    """Rows of name, unit and formula; bars inside a formula are escaped."""
    rows = [f"| `{f.name}` | {f.unit} | {f.formula.replace('|', chr(92) + '|')} |" for f in features]
    return ["| name | unit | formula |", "|---|---|---|", *rows]
