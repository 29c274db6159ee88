"""Hits, misses and false positives add up, whatever the threshold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from overread.report import Gallery
from overread.study.stages.gallery import sort_gallery
from study_chain import Chain, show_by_hand


def gallery_at(chain: Chain, threshold: float, model: str = "b1") -> Gallery:
    tables = chain.load("tables/scores.parquet"), chain.load("tables/objects.parquet")
    return sort_gallery(model, chain.load("cohort"), *tables, point=(0.5, threshold))


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 1.0])
def test_everything_is_somewhere(chain: Chain, share: float) -> None:
    test = chain.load("cohort").split("test")
    scores = chain.load("tables/scores.parquet").merge(test.candidates[["image_id", "candidate_id"]])["b1"]
    threshold = float(np.quantile(scores, share))
    gallery = gallery_at(chain, threshold)
    golden = test.truth["golden"]
    assert len(gallery.hits) + len(gallery.misses) == golden.sum()
    on_any = np.isin(np.arange(len(scores)), test.hits["candidate_row"])
    shown = show_by_hand(test.candidates, scores.tolist())
    assert not shown.all()
    assert len(gallery.false_positives) == ((scores >= threshold) & ~on_any & shown).sum()
    best = dict.fromkeys(np.flatnonzero(golden), -math.inf)
    for candidate, gt in zip(test.hits["candidate_row"], test.hits["truth_row"], strict=True):
        if gt in best and shown[candidate]:
            best[gt] = max(best[gt], scores[candidate])
    assert len(gallery.hits) == sum(value >= threshold for value in best.values())


def test_the_best_and_the_largest_come_first(chain: Chain) -> None:
    gallery = gallery_at(chain, -100.0)
    assert gallery.hits["score"].is_monotonic_decreasing
    assert gallery.false_positives["score"].is_monotonic_decreasing
    assert gallery_at(chain, 100.0).misses["semi_major"].is_monotonic_decreasing


def test_a_hit_lies_in_its_object(chain: Chain) -> None:
    hits = gallery_at(chain, -100.0).hits
    assert len(hits)
    away = np.hypot(hits["candidate_x"] - hits["x"], hits["candidate_y"] - hits["y"])
    assert (away <= hits["semi_major"].clip(lower=5.0)).all()
    assert (hits["n_readers"] >= 2).all()


def test_without_a_threshold_nothing_is_shown(chain: Chain) -> None:
    gallery = gallery_at(chain, math.nan)
    assert (len(gallery.hits), len(gallery.false_positives)) == (0, 0)
    assert len(gallery.misses) == chain.load("cohort").split("test").truth["golden"].sum()


def test_a_miss_that_no_candidate_reaches_has_no_score(chain: Chain) -> None:
    misses = gallery_at(chain, 100.0).misses
    assert misses.loc[~misses["reached"].astype(bool), "score"].isna().all()
    assert misses["score"].notna().any()
