from __future__ import annotations

import sys
import warnings
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from small_chain import small_run

from overread.froc import calibration, chance_level, compare, compare_figures, lesion_sizes_mm, sensitivity_by
from overread.images import Radiograph
from overread.images.radiograph import SpacingSource
from overread.marks import Ellipse
from overread.report import ModelContent, PairedComparison, StudyContent, crop_around
from overread.truth import reader_statistics


def ramp():
    """A radiograph that gets brighter to the right."""
    rows, columns = np.mgrid[:200, :200]
    return Radiograph(
        pixels=(columns / 200 + 0.1 * np.sin(rows / 9)).astype(np.float32),
        mm_per_px=0.7,
        valid=np.ones((200, 200), dtype=bool),
        spacing_source=SpacingSource.GIVEN,
        source_mm_per_px=(0.7, 0.7),
        source_shape=(200, 200),
    )


@pytest.fixture(scope="session")
def content():
    """A small run without pixels, two models of it, crops of a ramp."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = small_run(150, 3)
    training, test = run.matchings["training + validation"], run.matchings["test"]
    noise = np.random.default_rng(0).normal(0, 1.0, len(test.candidate_scores))
    worse = test.with_scores(test.candidate_scores + noise)
    coef = run.model.coef_[0]
    chosen = np.flatnonzero(coef)
    features = pd.DataFrame(
        {
            "feature": run.model.feature_names_in_[chosen],
            "weight": coef[chosen],
            "meaning": ["a <b>made-up</b> number"] * len(chosen),
        }
    )
    bags = run.parts["test"]
    reliability = calibration(run.model.predict_proba(bags)[:, 1], bags.labels, n_bootstrap=50)
    test_ids = set(test.image_ids)
    inside = run.cohort.candidates["image_id"].isin(test_ids)
    chance = chance_level(
        run.cohort.candidates[inside],
        run.truth[run.truth["image_id"].isin(test_ids)],
        run.cohort.images[run.cohort.images["image_id"].isin(test_ids)],
        scores=test.candidate_scores,
        n_shifts=3,
    )
    models = (
        ModelContent("Soft", "Soft labels & L1.", training, test, features, reliability),
        ModelContent("B1", "The same with noise.", training, worse, features.head(2)),
    )
    pairs = tuple(
        PairedComparison(
            a.name,
            b.name,
            compare(a.test, b.test, n_bootstrap=100, n_permutations=100).table(),
            compare_figures(a.test, b.test, n_bootstrap=100, n_permutations=100),
        )
        for a, b in combinations(models, 2)
    )
    crop = crop_around(
        ramp(), 20, 30, caption="score <1>", ellipse=Ellipse(22, 31, 8, 5, 30), circle=(20, 30, 6)
    )
    return StudyContent(
        title="A study <x>",
        lead="A small run.",
        facts=(("images", "150"), ("seed", "3")),
        marks=run.cohort.marks,
        readings=run.cohort.readings,
        truth=run.truth,
        statistics=reader_statistics(run.cohort.marks, run.cohort.readings),
        examples=tuple(run.cohort.marks["image_id"].value_counts().index[:1]),
        pictures={},
        choice=run.choice,
        models=models,
        table=run.table,
        table_ignoring=run.table,
        table_out_of_fold=run.table,
        fp_targets=(0.5, 1.0, 1.5, 2.0, 2.5, 3.0),
        level=0.9,
        n_bootstrap=200,
        seed=3,
        comparisons=pairs,
        chance=chance,
        by_size=sensitivity_by(
            test, lesion_sizes_mm(test), fp_target=1.0, bins=[0, 10, 20, 1e3], n_bootstrap=50
        ).assign(fp_target=1.5),
        reader_importance=pd.DataFrame(
            {"reader_id": ["R1", "R2"], "importance": [0.5, 0.3], "low": [0.2, 0.1], "high": [0.8, 0.5]}
        ),
        gallery_threshold="At a score of 1.",
        hits=(crop, crop),
        misses=(crop,),
        false_positives=(),
        quarantined=pd.DataFrame({"image_id": ["i7"], "reason": ["cut short & broken"]}),
        limits=("Simulated data: no patient here.",),
        claim={28: "FROC"},
    )
