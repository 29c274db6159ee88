"""Features and their families: names, formulas, and the function that computes a family.

How to add one: ``docs/how-to/add_a_feature_family.md``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from overread._text import short_repr
from overread.features._arrays import F32, F64
from overread.features.context._context import Context

Kind = Literal["specific", "texture", "learned"]
"""Kind of a family: specific to nodules, texture, or learned."""

# Added to denominators; grey levels run from about 0 to 1.
EPSILON = 1e-6


@dataclass(frozen=True)
class Feature:
    """One entry of the catalogue.

    Parameters
    ----------
    name : str
        Says family, channel and parameters: ``"glcm_contrast.wavelet2_hl.d1.mean"``. A Python identifier after
        the dots are replaced.
    kind : str
        Specific: made for what nodules, ribs, vessels and lungs look like; of texture and intensity; or learned from
        examples.
    family : str
        Family that computes it.
    unit : str
        ``"mm"``, ``"1"``, ``"grey"`` (units of the normalized image), ``"deg"``, ...
    formula : str
        What is computed, as a formula in plain text.
    reference : str
        Where it was published.
    words : str, default=''
        What the feature measures, in words for readers of radiographs.
    """

    name: str
    kind: Kind
    family: str
    unit: str
    formula: str
    reference: str
    words: str = ""


@short_repr()
@dataclass(frozen=True)
class Family:
    """Features that are computed together.

    Parameters
    ----------
    features : tuple
        In the order of the columns that ``compute`` returns.
    compute : callable
        Context -> float32 array (candidates x features), all finite.
    trained_on : str, default=''
        Training data of a learned family; empty for the others.
    """

    features: tuple[Feature, ...]
    compute: Callable[[Context], F32]
    trained_on: str = ""


def describe_features(
    family: str,
    reference: str,
    rows: Sequence[tuple[str, ...]],
    *,
    symbols: Mapping[str, str] | None = None,
    kind: Kind = "specific",
) -> tuple[Feature, ...]:
    """Describe the features of a family by rows of name, unit, formula and plain words.

    Parameters
    ----------
    family, reference : str
        The same for all rows.
    rows : sequence of tuple
        Name without the family, unit, formula and, if you like, what the feature looks at in plain words.
    symbols : mapping, optional
        What a symbol of the formulas means; added to each formula in which the symbol stands as a word.
    kind : str, default='specific'
        The same for all rows.
    """
    return tuple(
        Feature(
            name=f"{family}.{name}",
            kind=kind,
            family=family,
            unit=unit,
            formula="; ".join([formula, *_explain_symbols(formula, symbols or {})]),
            reference=reference,
            words="".join(words),
        )
        for name, unit, formula, *words in rows
    )


def _explain_symbols(formula: str, symbols: Mapping[str, str]) -> list[str]:
    """List the meanings of the symbols in a formula, and of the symbols in those meanings."""
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


def stack_columns(features: Sequence[Feature], values: Mapping[str, F64], n_candidates: int) -> F32:
    """Stack the values, named as the features without their family, in the features' order."""
    out = np.empty((n_candidates, len(features)), dtype=np.float32)
    for position, feature in enumerate(features):
        out[:, position] = values[feature.name.partition(".")[2]]
    return out


def to_columns(answers: F64) -> F32:
    """Make one axis of all but the candidates', and round to float32; what does not fit is clipped to what does."""
    limits = np.finfo(np.float32)
    table = answers.reshape(len(answers), math.prod(answers.shape[1:]))
    return np.clip(table, limits.min, limits.max).astype(np.float32)


def ratio(numerator: F64, denominator: F64) -> F64:
    """Quotient of a number and one that is not negative; 0 / 0 gives 0 because `EPSILON` is added below."""
    return numerator / (denominator + EPSILON)
