"""The first screen's numbers, recomputed from the run's tables.

They are counted with plain NumPy and pandas from the files of a run; no function of FROC is used. Its sentences are
in tests/report/golden and in test_verdict_sentences.py.
"""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from overread._commands import print_results
from overread.report import StudyResults, read_results
from overread.report._words import give_answer, list_cards
from overread.study import RunReport
from study_chain import show_by_hand


@pytest.fixture(scope="module")
def folder(light_original: Path) -> Path:
    return light_original / "runs/main"


@pytest.fixture(scope="module")
def results(folder: Path) -> StudyResults:
    return read_results(folder / "results.json")


def tell(results: StudyResults) -> tuple[str, dict[str, str]]:
    """Return the headline, and the parts of the answer by what they are about."""
    answer = give_answer(results)
    return answer.headline, {part.about: part.text for part in answer.parts}


def test_the_terminal_ends_with_the_same_words(folder: Path, results: StudyResults, capsys) -> None:
    print_results(RunReport(folder, n_images=36), results)
    last = capsys.readouterr().out.splitlines()[-2:]
    headline, said = tell(results)
    assert last[0] == headline
    assert last[1] in said["Result"]


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

    def lock(self, fp_target: float) -> float:
        """Return the lowest score whose false positives do not exceed a target on this set itself."""
        return min(score for score in self.scores if self.count(score)[2] <= fp_target)

    def resample(self, threshold: float, n_draws: int) -> np.ndarray:
        """GT and image sensitivity of patients drawn with replacement."""
        marked = np.flatnonzero(self.shown & (self.scores >= threshold))
        found = {gt for row in marked for gt in self.hits[row]}
        golden = self.truth[self.truth["golden"]]
        rows = golden.assign(found=golden.index.isin(found)).merge(
            self.images[["image_id", "patient_id"]], on="image_id"
        )
        by_image = rows.groupby(["patient_id", "image_id"])["found"].agg(["size", "sum", "max"]).reset_index()
        by_image["one"] = 1
        columns = ["size", "sum", "one", "max"]
        patients = by_image.groupby("patient_id")[columns].sum()
        patients = patients.reindex(self.images["patient_id"].unique(), fill_value=0).to_numpy(float)
        random = np.random.default_rng(99)
        draws = random.integers(0, len(patients), (n_draws, len(patients)))
        n, hit, n_images, hit_images = patients[draws].sum(axis=1).T
        return np.column_stack([hit / n, hit_images / n_images])

    def move(self, threshold: float, seed: int, n_shifts: int) -> float:
        """Share of golden objects that candidates of other images find."""
        names = self.images["image_id"].tolist()
        random = np.random.default_rng(seed)
        order = random.permutation(len(names))
        shares = []
        for shift in random.choice(np.arange(1, len(names)), size=n_shifts, replace=False):
            host = {names[order[(k + shift) % len(names)]]: names[order[k]] for k in range(len(names))}
            moved = self.candidates.assign(image_id=self.candidates["image_id"].map(host))
            marked = np.flatnonzero(self.shown & (self.scores >= threshold))
            found = {gt for row in marked for gt in self.find_hits(moved.iloc[row])}
            golden = self.truth.index[self.truth["golden"]]
            shares.append(len(found & set(golden)) / len(golden))
        return float(np.mean(shares))


def wilson(share: float, n: float) -> tuple[float, float]:
    """Wilson's 95 % interval."""
    z = 1.959964
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return middle - half, middle + half


def worth_of(share: float, half_width: float) -> float:
    """Number of independent objects whose interval has this half-width, by bisection."""
    few, many = 1e-3, 1e6
    for _ in range(200):
        middle = math.sqrt(few * many)
        low, high = wilson(share, middle)
        few, many = (middle, many) if (high - low) / 2 > half_width else (few, middle)
    return few


def test_every_number_of_the_first_screen_is_that_of_a_recount(folder: Path, results: StudyResults) -> None:
    run = Recount(folder)
    sensitivity, image_sensitivity, fp = run.count(run.threshold)
    cards = [card.value for card in list_cards(results)]
    assert cards[:3] == [f"{100 * sensitivity:.1f} %", f"{100 * image_sensitivity:.1f} %", f"{fp:.2f}"]
    weights = json.loads((folder / "models/soft.json").read_text())["payload"]["fitted"]["coef_"]
    assert cards[3] == str(np.count_nonzero(weights))
    _, said = tell(results)
    golden = run.truth["golden"]
    labels = [card.label for card in list_cards(results)]
    assert f"of {golden.sum()} consensus objects" in labels[0]
    assert f"of {run.truth.loc[golden, 'image_id'].nunique()} images" in labels[1]
    assert f"found {100 * sensitivity:.0f} % of {golden.sum()} consensus objects" in said["Result"]
    assert f"at {fp:.2f} false positives per image" in said["Result"]
    assert f"this study has {golden.sum()} object" in said["Next step"]
    chance = run.move(run.lock(1.0), seed=3, n_shifts=1)
    assert f"Chance alone would find {100 * chance:.0f} %." in said["Result"]


def test_the_intervals_of_the_first_screen_are_those_of_a_bootstrap_by_hand(
    folder: Path, results: StudyResults
) -> None:
    """The run draws 100 times, so its standard error is known to 7 %: two of that are allowed."""
    run = Recount(folder)
    spread = run.resample(run.threshold, 4000).std(axis=0)
    told = [
        tuple(
            float(number) / 100
            for number in re.search(r"95 % interval ([\d.]+) % to ([\d.]+) %", card.label).groups()
        )  # type: ignore[union-attr]
        for card in list_cards(results)[:2]
    ]
    for share, error, limits in zip(run.count(run.threshold), spread, told, strict=False):
        if share < 1:
            worths = [share * (1 - share) / (factor * error) ** 2 for factor in (0.86, 1.14)]
        else:
            # All are found: nothing varies, and as many patients as have one are what is known.
            positive = run.images["image_id"].isin(run.truth.loc[run.truth["golden"], "image_id"])
            worths = [run.images.loc[positive, "patient_id"].nunique()] * 2
        for end in (0, 1):
            low, high = sorted(wilson(share, worth)[end] for worth in worths)
            assert low - 0.001 <= limits[end] <= high + 0.001
    headline, said = tell(results)
    lower, upper = (f"{100 * limit:.0f}" for limit in told[0])
    assert f"(95 % interval {lower} to {upper} %)" in said["Result"]
    assert headline.startswith("Too small to tell: ")
    assert f"may be {lower} to {upper} %" in headline


def test_the_size_of_the_next_study_follows_from_the_interval(folder: Path, results: StudyResults) -> None:
    run, verdict = Recount(folder), results.verdict
    n_gts = int(run.truth["golden"].sum())
    worth = worth_of(verdict.sensitivity, (verdict.upper - verdict.lower) / 2)
    worst = min(max(0.5, verdict.lower), verdict.upper)
    # Objects of a patient that look independent in so few may be so by luck: no fewer than independent ones.
    factor = worth_of(worst, 0.05) / min(worth, n_gts)
    _, said = tell(results)
    told = re.search(
        r"up to ([\d,]+) consensus objects in unseen patients, about ([\d,]+) images", said["Next step"]
    )
    assert told is not None
    objects, images = (int(number.replace(",", "")) for number in told.groups())
    assert objects == pytest.approx(factor * n_gts, rel=0.02)
    assert images == pytest.approx(factor * len(run.images), rel=0.02)


def judge_by_others(folder: Path, run: Recount, reader: str) -> tuple[float, float, float, int]:
    """Sensitivity and false marks per image of a reader in the test set, judged by the others; of the detector too.

    Hands err by 1 mm here, and objects are mostly apart: marks within 6 mm are taken to be of one object, and a place
    within 5 mm of its middle, or within its mean radius, to hit it. Returned are the reader's sensitivity and false
    marks per image, the detector's best sensitivity with no more of them, and how many objects the others agree on.
    """
    marks, readings = (pd.read_parquet(folder / f"tables/{name}.parquet") for name in ("marks", "readings"))
    read = set(readings.loc[readings["reader_id"] == reader, "image_id"]) & set(run.images["image_id"])
    groups = {
        image: group_near(marks[(marks["image_id"] == image) & (marks["reader_id"] != reader)])
        for image in read
    }
    golden = {
        (image, number)
        for image, found in groups.items()
        for number, group in enumerate(found)
        if len({mark.reader_id for mark in group}) >= 2
    }

    def find(image: str, place: Any) -> set[tuple[str, int]]:
        return {(image, number) for number, group in enumerate(groups[image]) if is_on(place, group)}

    own = marks[(marks["reader_id"] == reader) & marks["image_id"].isin(read)]
    drawn = [find(mark.image_id, mark) for mark in own.itertuples()]
    false = sum(not hit for hit in drawn) / len(read)
    shown = [
        (score, find(row.image_id, row))
        for row, score, is_shown in zip(run.candidates.itertuples(), run.scores, run.shown, strict=True)
        if is_shown and row.image_id in read
    ]
    best = 0
    for threshold in {score for score, _ in shown}:
        above = [hit for score, hit in shown if score >= threshold]
        if sum(not hit for hit in above) / len(read) <= false:
            best = max(best, len(set().union(*above) & golden))
    return len(set().union(*drawn) & golden) / len(golden), false, best / len(golden), len(golden)


def is_on(place: Any, group: list[Any]) -> bool:
    x, y = (np.mean([getattr(one, name) for one in group]) for name in ("x_mm", "y_mm"))
    radius = np.mean([math.sqrt(one.semi_major_mm * one.semi_minor_mm) for one in group])
    return math.hypot(place.x_mm - x, place.y_mm - y) <= max(radius, 5.0)


def group_near(marks: pd.DataFrame) -> list[list[Any]]:
    """Group marks of which each is near another."""
    groups: list[list[Any]] = []
    for mark in marks.itertuples():
        near = [group for group in groups if any(is_near(mark, one) for one in group)]
        apart = [group for group in groups if group not in near]
        groups = [*apart, [mark, *(one for group in near for one in group)]]
    return groups


def is_near(one: Any, other: Any) -> bool:
    return math.hypot(one.x_mm - other.x_mm, one.y_mm - other.y_mm) < 6.0


def test_the_readers_of_the_first_screen_are_those_of_a_recount(folder: Path, results: StudyResults) -> None:
    run, points = Recount(folder), results.reader_points
    assert sorted(points["reader_id"]) == sorted(run.readers["reader_id"])
    for point in points.itertuples():
        own, false, beside, n_golden = judge_by_others(folder, run, point.reader_id)
        # Merging goes by overlap, so that of marks that just touch one may belong elsewhere.
        assert abs(n_golden - point.n_gts) <= 1
        assert abs(own - point.sensitivity) < 1.5 / n_golden
        assert abs(false - point.fp_per_image) < 1.5 / point.n_images
        assert abs(beside - point.detector_sensitivity) < 2.5 / n_golden
    _, said = tell(results)
    shares, beside = points["sensitivity"], points["detector_sensitivity"]
    assert (
        f"found {100 * shares.min():.0f} to {100 * shares.max():.0f} % and the detector {100 * beside.min():.0f}"
        in said["Against the readers"]
    )
    assert ((points["lower"] <= points["difference"]) & (points["difference"] <= points["upper"])).all()
