"""Catalogues of features, from the code, so that they are never stale."""

from __future__ import annotations

from markdown_text import code, plain, table

from overread import CATALOGUE
from overread.domains import GENERIC_FEATURES

__all__ = ["catalogue_page", "generic_catalogue"]


def catalogue_page() -> str:
    """Give all features: a table a family."""
    parts = [f"{len(CATALOGUE)} features, in the order of the columns of `extract`."]
    for family in CATALOGUE.families:
        members = CATALOGUE.family(family)
        references = dict.fromkeys(feature.reference for feature in members)
        rows = [(code(one.name), plain(one.unit), plain(one.formula)) for one in members]
        parts += [
            f"### {family} ({len(members)})",
            "\n".join(f"{plain(reference)}." for reference in references),
        ]
        parts += [table(("name", "unit", "formula"), rows)]
    return "\n\n".join(parts)


def generic_catalogue() -> str:
    """Give the features of pictures that are not chest radiographs."""
    rows = [(code(name), plain(meaning)) for name, meaning in GENERIC_FEATURES.items()]
    return f"{len(rows)} features.\n\n{table(('name', 'meaning'), rows)}"
