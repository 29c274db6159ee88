"""Presets: named sets of values that replace the defaults of ``study.toml``.

The preset "paper" is what Stainvas, Manevitch and Leichter did, as far as they say it; docs/reference/paper_to_code.md
sets it beside our defaults. Every value is that of a key, so that a study moves from the paper to the defaults one key
at a time. Keys on which the paper is silent, such as the hit rule, are not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

PAPER: Final[Mapping[str, Mapping[str, Any]]] = {
    # Section 2.1.
    "merging": {
        "method": "star",
        "threshold": "adaptive",
        "t0": 0.63,
        "similar_size": 0.7,
        "similar_distance": 0.1,
        "same_reader_hits": False,
        "pair_representative": "random",
        "merge_coinciding": True,
        "nested": "no",
    },
    # Section 3: k_d = 1/8, and 25 readers in its footnote. Appendix: a_mu.
    "labels": {"n_max": 25, "depression": 0.125, "score": "readers", "reader_weights": True},
    # Section 5.2: 150 specific features and 1000 of texture; nothing is learned from other images.
    "features": {"exclude": ["learned.*"]},
    # Section 5.1 makes no exception for candidates on objects of one reader, nor for several on one place.
    "hits": {"single_reader": "fp", "repeats": "count"},
    "models": {"wanted": ["soft", "b1", "b2"]},
    # Section 4: w'x without an intercept. Section 4.1: three normalizations, all with lambda / d. Section 6.1 and
    # Figure 3: intervals of lambda at 0.5 and 1 FP per image, and in both the largest sensitivity. The paper does
    # not say which lambdas it tried. Without an intercept the first coefficient takes its place, at penalties far above
    # those at which others come in, so that the path has to be long.
    "soft": {
        "normalizations": ["none", "bags", "class"],
        "divide_by_features": True,
        "intercept": False,
        "min_ratio": 1e-4,
        "rule": "paper",
        "choice_fp_targets": [0.5, 1.0],
        "pick": "best",
    },
    # Section 6.2: parameters that lead to the best results on the images that the model is fitted to.
    "b1": {"rule": "in_sample"},
    "b2": {"rule": "in_sample", "scores": "in_sample"},
    # Section 6: a test set. Section 6.1: its footnote leaves out what candidate generation misses. Table 1.
    "evaluation": {
        "headline": "test",
        "fp_targets": [0.5, 1.0, 1.5, 2.0, 2.5, 3.0],
        "operating_fp": 0.5,
        "thresholds": "in_sample",
        "objects": "reached",
    },
}

PRESETS: Final[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {"paper": PAPER}
"""By name: values by section and key."""


def lay_over(preset: Mapping[str, Mapping[str, Any]], raw: Mapping[str, object]) -> dict[str, object]:
    """Return the settings of a file over those of a preset: a key that the file has keeps its value."""
    laid: dict[str, object] = {**preset, **raw}
    for section, own in preset.items():
        written = raw.get(section, {})
        if isinstance(written, Mapping):
            laid[section] = {**own, **written}
    return laid


def list_changes(plain: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the keys, as ``[section] key``, and values of plain settings that differ from their preset.

    None where they name no preset. Sections that are not there, those of models that are not fitted, are not compared.
    """
    if not plain.get("preset"):
        return None
    return {
        f"[{section}] {key}": plain[section][key]
        for section, own in PRESETS[plain["preset"]].items()
        for key, value in own.items()
        if section in plain and plain[section][key] != value
    }
