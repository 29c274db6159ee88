"""The first screen: right for a good, a bad and a too small study; its numbers recomputed from the run's tables.

The numbers are counted here with plain NumPy and pandas from the files of a run; no function of FROC is used.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from overread.froc import ChanceLevel, StudySize
from overread.report import StudyResults, read_results
from overread.report.results import Counted
from overread.report.words import list_cards, tell_verdict
from overread.study.stages.verdict import reach_verdict
from study_chain import show_by_hand

READERS = pd.DataFrame({"loo_sensitivity": [0.62, 0.7, 0.85], "loo_fp_per_image": [0.2, 0.3, 0.5]})


@pytest.fixture(scope="module")
def folder(light_original: Path) -> Path:
    return light_original / "runs/main"


@pytest.fixture(scope="module")
def results(folder: Path) -> StudyResults:
    return read_results(folder / "results.json")


def judged(results: StudyResults, found: int, n_gts: int, *, at_chance: float = 0.03) -> StudyResults:
    """Put a test set in which so many of so many objects are found into the results of a run.

    The interval is that of independent objects (Wilson's), as large studies have it.
    """
    model = results.model(results.supported)
    share, z = found / n_gts, 1.96
    middle = (share + z**2 / (2 * n_gts)) / (1 + z**2 / n_gts)
    half = z / (1 + z**2 / n_gts) * math.sqrt(share * (1 - share) / n_gts + z**2 / (4 * n_gts**2))
    counted = change(model.counted[0], share, (middle - half, middle + half), n_gts, at_chance)
    model = replace(model, counted=[counted, *model.counted[1:]])
    size = StudySize(patients=1, images=4 * 385, gts=385)
    verdict = reach_verdict(model.name, counted, READERS, (), 1.0, size)
    others = [one for one in results.models if one.name != model.name]
    return replace(results, models=[model, *others], verdict=verdict)


def change(
    counted: Counted, share: float, interval: tuple[float, float], n_gts: int, at_chance: float
) -> Counted:
    is_gt = counted.locked["measure"] == "gt_sensitivity"
    locked = counted.locked.astype({"estimate": "float64", "lower": "float64", "upper": "float64"})
    locked.loc[is_gt, ["estimate", "lower", "upper"]] = [share, *interval]
    curve = pd.DataFrame({"fp_per_image": [0.0, 0.25, 1.0], "gt_sensitivity": [0.0, 0.95 * share, share]})
    points = pd.DataFrame(
        {"fp_target": [1.0], "gt_sensitivity": [share], "chance_gt_sensitivity": [at_chance]}
    )
    chance = ChanceLevel(points=points, reached=1.0, chance_reached=0.1, n_shifts=5, exact=False)
    return replace(
        counted, locked=locked, chance=chance, test=replace(counted.test, n_gts=n_gts, curve=curve)
    )


def test_a_good_study_says_among_the_readers_and_what_to_try_next(results: StudyResults) -> None:
    said = tell_verdict(judged(results, 240, 320))
    assert "finds 75 % of the golden objects (95 %: 70 to 79)" in said[0]
    assert "by chance it would be 3 %" in said[0]
    assert (
        "find 62 to 85 % with 0.30 false marks per image (median); at that many the detector finds 71 %"
        in said[1]
    )
    assert "it stands among them: worth a study in which readers use it" in said[2]
    assert not any("do not use" in sentence or "too small" in sentence for sentence in said)
    assert said[-1].startswith(
        "Next: to know the sensitivity to ±5 points takes up to 385 unseen golden objects"
    )


def test_a_detector_below_the_readers_replaces_none(results: StudyResults) -> None:
    said = " ".join(tell_verdict(judged(results, 130, 320)))
    assert "It finds fewer than the readers do" in said
    assert "replaces no reader" in said
    assert "among them" not in said


def test_a_bad_study_says_do_not_use_it(results: StudyResults) -> None:
    said = " ".join(tell_verdict(judged(results, 16, 320, at_chance=0.05)))
    assert "finds 5 % of the golden objects" in said
    assert "by chance it would be 5 %" in said
    assert "not better than chance: do not use it" in said
    assert "worth a study" not in said


@pytest.mark.parametrize("found", [0, 4, 9])
def test_a_handful_of_objects_says_too_small_however_good_it_looks(results: StudyResults, found: int) -> None:
    said = " ".join(tell_verdict(judged(results, found, 9)))
    assert "too small to say what the detector may be used for" in said
    for claim in ("among them", "do not use it", "replaces no reader"):
        assert claim not in said
    assert "takes up to 385 unseen golden objects" in said


def test_a_large_enough_test_set_asks_for_no_more(results: StudyResults) -> None:
    assert not any(sentence.startswith("Next:") for sentence in tell_verdict(judged(results, 300, 400)))


class Recount:
    """A run counted again from its tables."""

    def __init__(self, folder: Path) -> None:
        tables = {
            name: pd.read_parquet(folder / "tables" / f"{name}.parquet")
            for name in ("images", "truth", "candidates", "scores", "readings", "marks", "readers")
        }
        self.images = tables["images"].query("split == 'test'")
        inside = self.images["image_id"]
        self.truth = tables["truth"][tables["truth"]["image_id"].isin(inside)].reset_index(drop=True)
        self.candidates = tables["candidates"][tables["candidates"]["image_id"].isin(inside)].reset_index(
            drop=True
        )
        self.readers = tables["readers"]
        scores = self.candidates.merge(tables["scores"], on=["image_id", "candidate_id"], validate="1:1")[
            "soft"
        ]
        points = pd.DataFrame(json.loads((folder / "operating_points.json").read_text()))
        (self.threshold,) = points.query(
            "model == 'soft' and source == 'out_of_fold' and single_reader == 'ignore' and fp_target == 1.0"
        )["threshold"]
        self.scores = scores.to_numpy()
        self.shown = show_by_hand(self.candidates, scores.tolist())
        self.hits = [self.find_hits(row) for row in self.candidates.itertuples()]

    def find_hits(self, candidate: object) -> list[int]:
        """GTs in whose ellipse, with semi-axes of 5 mm at least, the candidate's centre lies."""
        found = []
        for number, gt in enumerate(self.truth.itertuples()):
            if gt.image_id != candidate.image_id:  # type: ignore[attr-defined]
                continue
            angle = math.radians(gt.angle_deg)
            dx, dy = candidate.x_mm - gt.x_mm, candidate.y_mm - gt.y_mm  # type: ignore[attr-defined]
            along = dx * math.cos(angle) + dy * math.sin(angle)
            across = -dx * math.sin(angle) + dy * math.cos(angle)
            if (along / max(gt.semi_major_mm, 5)) ** 2 + (across / max(gt.semi_minor_mm, 5)) ** 2 <= 1:
                found.append(number)
        return found

    def count(self, threshold: float) -> tuple[float, float, float]:
        """Return GT sensitivity, image sensitivity and FP per image."""
        marked = np.flatnonzero(self.shown & (self.scores >= threshold))
        golden = self.truth.index[self.truth["golden"]]
        found = {gt for row in marked for gt in self.hits[row]} & set(golden)
        positive = set(self.truth.loc[golden, "image_id"])
        with_one = set(self.truth.loc[list(found), "image_id"])
        wrong = sum(not self.hits[row] for row in marked)
        return len(found) / len(golden), len(with_one) / len(positive), wrong / len(self.images)


def test_every_number_of_the_first_screen_is_that_of_a_recount(folder: Path, results: StudyResults) -> None:
    run = Recount(folder)
    sensitivity, image_sensitivity, fp = run.count(run.threshold)
    cards = [card.value for card in list_cards(results)]
    assert cards[:3] == [f"{100 * sensitivity:.1f} %", f"{100 * image_sensitivity:.1f} %", f"{fp:.2f}"]
    weights = json.loads((folder / "models/soft.json").read_text())["payload"]["fitted"]["coef_"]
    assert cards[3] == str(np.count_nonzero(weights))
    said = tell_verdict(results)
    golden = run.truth["golden"]
    labels = [card.label for card in list_cards(results)]
    assert f"of {golden.sum()} golden objects" in labels[0]
    assert f"of {run.truth.loc[golden, 'image_id'].nunique()} images" in labels[1]
    assert f"finds {100 * sensitivity:.0f} % of the golden objects" in said[0]
    assert f"at {fp:.1f} false positives per image" in said[0]
    lower, upper = (float(number) for number in re.findall(r"95 %: (\d+) to (\d+)", said[0])[0])
    assert lower <= 100 * sensitivity <= upper


def test_the_readers_of_the_first_screen_are_those_of_a_recount(folder: Path, results: StudyResults) -> None:
    run = Recount(folder)
    said = tell_verdict(results)[1]
    shares = run.readers["loo_sensitivity"].dropna()
    median = run.readers.dropna(subset=["loo_sensitivity"])["loo_fp_per_image"].median()
    assert (
        f"find {100 * shares.min():.0f} to {100 * shares.max():.0f} % with {median:.2f} false marks" in said
    )
    # The best sensitivity of any threshold that shows no more false marks than the readers make.
    at_most = [run.count(threshold) for threshold in np.unique(run.scores)]
    best = max((sensitivity for sensitivity, _, fp in at_most if fp <= median), default=0.0)
    assert f"at that many the detector finds {100 * best:.0f} %" in said
