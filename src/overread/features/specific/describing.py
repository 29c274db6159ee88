"""How a family of specific features says what it computes, and puts its columns in that order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from overread.features.feature import Feature

__all__ = ["EPSILON", "columns", "described", "ratio"]

# Added to denominators; grey levels run from about 0 to 1.
EPSILON = 1e-6


def described(
    family: str,
    reference: str,
    rows: Sequence[tuple[str, str, str]],
    *,
    symbols: Mapping[str, str] | None = None,
) -> tuple[Feature, ...]:
    """Features of a family from rows of name, unit and formula.

    Parameters
    ----------
    family, reference
        The same for all rows.
    rows
        Name without the family, unit, formula.
    symbols
        What a symbol of the formulas means; added to each formula in which the symbol stands as a word.
    """
    return tuple(
        Feature(
            name=f"{family}.{name}",
            kind="specific",
            family=family,
            unit=unit,
            formula="; ".join([formula, *meanings(formula, symbols or {})]),
            reference=reference,
        )
        for name, unit, formula in rows
    )


def meanings(formula: str, symbols: Mapping[str, str]) -> list[str]:
    """Meanings of the symbols in a formula, and of the symbols in those meanings."""
    found: dict[str, None] = {}
    text = formula
    while True:
        new = [
            meaning
            for symbol, meaning in symbols.items()
            if meaning not in found and re.search(rf"(?<![\w.']){re.escape(symbol)}(?!\w)", text)
        ]
        if not new:
            return list(found)
        found.update(dict.fromkeys(new))
        text = " ".join(new)


def columns(
    features: Sequence[Feature], values: dict[str, NDArray[np.float64]], n_candidates: int
) -> NDArray[np.float32]:
    """Stack the values, named as the features without their family, in the features' order."""
    out = np.empty((n_candidates, len(features)), dtype=np.float32)
    for position, feature in enumerate(features):
        out[:, position] = values[feature.name.partition(".")[2]]
    return out


def ratio(numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> NDArray[np.float64]:
    """Quotient of a number and one that is not negative; 0 / 0 gives 0 because `EPSILON` is added below."""
    return numerator / (denominator + EPSILON)
