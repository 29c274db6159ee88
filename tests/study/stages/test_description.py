"""What the images are, and the detector in groups of them."""

import numpy as np
import pandas as pd
import pytest

from overread.report import Description, Spread
from overread.study.stages.gallery import describe_images, evaluate_subgroups
from study_chain import Chain, show_by_hand


def test_files_and_columns_together() -> None:
    facts = pd.DataFrame(
        {
            "source_mm_per_px": [[0.1, 0.1], [0.2, 0.2], [0.2, 0.4]],
            "width_mm": [300.0, 350.0, 400.0],
            "spacing_source": ["PixelSpacing", "given", "given"],
        }
    )
    told = describe_images(facts, Description({"age, years": Spread(1, 2, 3)}, {"sex": {"F": 3}}))
    assert told.numbers["pixel size, mm"] == Spread(0.1, 0.2, 0.4)
    assert told.numbers["width, mm"] == Spread(300.0, 350.0, 400.0)
    assert list(told.numbers)[-1] == "age, years"
    assert told.counts == {"pixel size from": {"the images table": 2, "PixelSpacing": 1}, "sex": {"F": 3}}


def test_a_study_without_images_is_described_by_its_table_alone() -> None:
    own = Description({}, {"sex": {"F": 3}})
    assert describe_images(pd.DataFrame({"image_id": ["a"]}), own) == own


def test_groups_are_counted_as_by_hand(chain: Chain) -> None:
    """Against a count from the run's tables without any function of FROC."""
    test = chain.load("cohort").split("test")
    matching = chain.load("matched")["soft"].test
    ids = test.images["image_id"]
    group = dict(zip(ids, np.where(np.arange(len(ids)) % 3 == 0, "A", "B"), strict=True))
    scores = test.candidates.merge(chain.load("tables/scores.parquet"), on=["image_id", "candidate_id"])[
        "soft"
    ]
    threshold = float(np.quantile(scores, 0.8))
    (found,) = evaluate_subgroups(matching, {"site": group}, threshold, chain.settings.evaluation, 0)
    shown = show_by_hand(test.candidates, scores.tolist()) & (scores >= threshold).to_numpy()
    on_any = np.isin(np.arange(len(scores)), test.hits["candidate_row"])
    hit = set(test.hits.loc[shown[test.hits["candidate_row"]], "truth_row"])
    for row in found.table.itertuples():
        inside = ids.map(group) == row.stratum
        golden = test.truth.index[test.truth["golden"] & test.truth["image_id"].map(group).eq(row.stratum)]
        wrong = shown & ~on_any & test.candidates["image_id"].map(group).eq(row.stratum).to_numpy()
        assert row.n_images == inside.sum()
        assert row.n_patients == test.images.loc[inside, "patient_id"].nunique()
        assert row.n_gts == len(golden)
        assert row.gt_sensitivity == pytest.approx(np.mean([gt in hit for gt in golden]))
        assert row.fp_per_image == pytest.approx(wrong.sum() / inside.sum())


def test_without_a_threshold_there_is_nothing_to_judge(chain: Chain) -> None:
    matching = chain.load("matched")["soft"].test
    assert evaluate_subgroups(matching, {"a": {}}, float("nan"), chain.settings.evaluation, 0) == []
