"""The numbers of results.json, made again from the tables."""

import math
import socket

import numpy as np
import pandas as pd
import pytest

from overread.files import to_json
from overread.report import StudyResults
from overread.study import Run
from overread.study._store import json_bytes
from study_chain import Chain
from study_recount import BOTH

MODELS = ["soft", "b1", "b2", "boosted"]


def test_weights_and_intercept_give_the_scores(run: Run, results: StudyResults) -> None:
    features, scores = run.features(), run.table("scores")
    matrix = features.drop(columns=["image_id", "candidate_id"]).astype(float)
    inside = in_parts(run, features, BOTH)
    for model in results.models[:3]:
        assert len(model.features) >= 1
        by_hand = sum((one.weight * matrix[one.name] for one in model.features), start=0.0) + model.intercept
        assert scores[model.name].to_numpy() == pytest.approx(by_hand.to_numpy(), rel=1e-9, abs=1e-9)
        for one in model.features:
            deviation = matrix.loc[inside, one.name].std(ddof=0)
            assert one.importance == pytest.approx(one.weight * deviation, rel=1e-6)
        importance = [abs(one.importance) for one in model.features]
        assert importance == sorted(importance, reverse=True)


def test_a_model_without_weights_has_shares_of_the_gain(results: StudyResults) -> None:
    boosted = results.model("boosted")
    assert all(math.isnan(one.weight) for one in boosted.features)
    assert math.isnan(boosted.intercept)
    assert sum(one.importance for one in boosted.features) == pytest.approx(1.0)
    assert len(boosted.features) == boosted.n_features


def in_parts(run: Run, table: pd.DataFrame, parts: set[str]) -> np.ndarray:
    split = run.table("images").set_index("image_id")["split"]
    return table["image_id"].map(split).isin(parts).to_numpy()


def test_out_of_fold_scores_cover_training_and_validation_only(run: Run) -> None:
    scores = run.table("scores")
    inside = in_parts(run, scores, BOTH)
    for model in MODELS:
        column = scores[f"{model}_out_of_fold"]
        assert column[inside].notna().all()
        assert column[~inside].isna().all()
        assert (column[inside] != scores.loc[inside, model]).any()


def test_reader_statistics_carry_codes(results: StudyResults, chain: Chain) -> None:
    readings = pd.read_csv(chain.study / "readings.csv")
    codes = pd.read_csv(chain.study / "reader_codes.csv").set_index("code")["reader_id"]
    readers = results.readers.readers
    assert readers["reader_id"].tolist() == [f"R{number}" for number in range(1, len(codes) + 1)]
    for row in readers.to_dict("records"):
        assert row["n_readings"] == int((readings["reader_id"] == codes[row["reader_id"]]).sum())
    assert set(results.model("b2").reader_importance["reader_id"]) <= set(readers["reader_id"])


def test_alone_the_stage_gives_the_bytes_of_the_run(chain: Chain, results: StudyResults) -> None:
    (made,) = chain.call("results").values()
    content = chain.folder.path("results.json").read_bytes()
    assert json_bytes(to_json(made)) == content
    assert json_bytes(to_json(results)) == content


def test_results_hold_no_time_no_machine_and_no_path(chain: Chain) -> None:
    text = chain.folder.path("results.json").read_text()
    for word in (
        socket.gethostname(),
        "written_at",
        "locked_at",
        "evaluated_at",
        "started",
        str(chain.study),
    ):
        assert word not in text
