"""The numbers of results.json, counted again from the tables without the package's own matching."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from overread.errors import FormatError
from overread.study import FinishedRun, StudyResults, open_run, read_results
from overread.study.results import frame


@pytest.fixture(scope="module")
def run(original: Path) -> FinishedRun:
    return open_run(original / "runs/main")


@pytest.fixture(scope="module")
def results(run: FinishedRun) -> StudyResults:
    return run.results


class Recount:
    """Sensitivities and false positives by hand: loops over images, candidates and objects."""

    def __init__(
        self, run: FinishedRun, model: str, parts: set[str], column: str, *, single_reader: str
    ) -> None:
        images = run.table("images")
        self.images = [row.image_id for row in images.itertuples() if row.split in parts]
        candidates = run.table("candidates").merge(run.table("scores"), on=["image_id", "candidate_id"])
        self.false_scores: list[float] = []
        self.best: dict[tuple[str, str], float] = {}
        truths, found = defaultdict(list), defaultdict(list)
        for row in run.table("truth").itertuples():
            truths[row.image_id].append(row)
        for row in candidates.to_dict("records"):
            found[row["image_id"]].append(row)
        for image in self.images:
            for truth in truths[image]:
                if truth.golden:
                    self.best[image, truth.truth_id] = -math.inf
            for candidate in found[image]:
                hits = [truth for truth in truths[image] if self.is_hit(candidate, truth)]
                golden = [truth for truth in hits if truth.golden]
                for truth in golden:
                    key = (image, truth.truth_id)
                    self.best[key] = max(self.best[key], candidate[column])
                if not golden and not (hits and single_reader == "ignore"):
                    self.false_scores.append(candidate[column])

    @staticmethod
    def is_hit(candidate: dict, truth) -> bool:
        a, b = max(truth.semi_major_mm, 5.0), max(truth.semi_minor_mm, 5.0)
        angle = math.radians(truth.angle_deg)
        dx, dy = candidate["x_mm"] - truth.x_mm, candidate["y_mm"] - truth.y_mm
        along = dx * math.cos(angle) + dy * math.sin(angle)
        across = -dx * math.sin(angle) + dy * math.cos(angle)
        return (along / a) ** 2 + (across / b) ** 2 <= 1

    def fp_per_image(self, threshold: float) -> float:
        return sum(score >= threshold for score in self.false_scores) / len(self.images)

    def sensitivities(self, threshold: float) -> dict[str, float]:
        found = {key for key, score in self.best.items() if score >= threshold}
        reached = {key for key, score in self.best.items() if score > -math.inf}
        n_images = len({image for image, _ in self.best})
        n_images_reached = len({image for image, _ in reached})
        n_found_images = len({image for image, _ in found})
        return {
            "gt_sensitivity": len(found) / len(self.best),
            "gt_sensitivity_reached": len(found) / len(reached),
            "image_sensitivity": n_found_images / n_images,
            "image_sensitivity_reached": n_found_images / n_images_reached,
        }

    def threshold(self, fp_target: float) -> float:
        """Return the lowest score whose false positives do not exceed the target."""
        scores = {*self.false_scores, *(score for score in self.best.values() if score > -math.inf)}
        allowed = [score for score in scores if self.fp_per_image(score) <= fp_target]
        return min(allowed, default=math.inf)


BOTH = {"training", "validation"}


@pytest.mark.parametrize("model", ["soft", "b1", "b2"])
@pytest.mark.parametrize("treatment", ["ignore", "fp"])
def test_operating_points_and_test_figures(
    run: FinishedRun, results: StudyResults, model: str, treatment: str
) -> None:
    counted = next(one for one in results.model(model).counted if one.single_reader == treatment)
    locked = frame(counted.locked)
    test = Recount(run, model, {"test"}, model, single_reader=treatment)
    for source, column in (("in_sample", model), ("out_of_fold", f"{model}_out_of_fold")):
        training = Recount(run, model, BOTH, column, single_reader=treatment)
        for target in results.fp_targets:
            rows = locked[(locked["source"] == source) & (locked["fp_target"] == target)]
            row = rows.set_index("measure")["estimate"]
            threshold = training.threshold(target)
            assert rows["threshold"].iloc[0] == threshold
            assert row["fp_per_image"] == pytest.approx(test.fp_per_image(threshold), abs=1e-12)
            for measure, value in test.sensitivities(threshold).items():
                assert row[measure] == pytest.approx(value, abs=1e-12)
    band = frame(counted.test.band)
    for target in results.fp_targets:
        rows = band[band["fp_target"] == target].set_index("measure")
        for measure, value in test.sensitivities(test.threshold(target)).items():
            assert rows.loc[measure, "estimate"] == pytest.approx(value, abs=1e-12)
            assert rows.loc[measure, "lower"] <= value <= rows.loc[measure, "upper"]
    assert counted.test.n_gts == len(test.best)
    assert counted.test.n_images == len(test.images)


@pytest.mark.parametrize("model", ["soft", "b1", "b2"])
def test_the_curve_keeps_every_step(run: FinishedRun, results: StudyResults, model: str) -> None:
    test = Recount(run, model, {"test"}, model, single_reader="ignore")
    curve = frame(results.model(model).counted[0].test.curve)
    assert np.all(np.diff(curve["fp_per_image"]) >= 0)
    for row in curve.dropna().to_dict("records"):
        assert row["fp_per_image"] == pytest.approx(test.fp_per_image(row["threshold"]), abs=1e-12)
        assert row["gt_sensitivity"] == pytest.approx(
            test.sensitivities(row["threshold"])["gt_sensitivity"], abs=1e-12
        )
    levels = {
        test.sensitivities(score)["gt_sensitivity"] for score in test.best.values() if score > -math.inf
    }
    assert {round(level, 12) for level in levels} <= {round(level, 12) for level in curve["gt_sensitivity"]}


def test_table_1_says_the_same(run: FinishedRun, results: StudyResults) -> None:
    assert len(results.table1) == 4
    for entry in results.table1:
        for told in entry["table"]["models"]:
            name = told["name"].lower()
            column = name if entry["source"] == "in_sample" else f"{name}_out_of_fold"
            treatment = entry["single_reader"]
            training = Recount(run, name, BOTH, column, single_reader=treatment)
            test = Recount(run, name, {"test"}, name, single_reader=treatment)
            thresholds = [training.threshold(target) for target in results.fp_targets]
            rows = told["rows"][1]
            assert rows["induced"]
            assert rows["fp_per_image"] == pytest.approx([test.fp_per_image(one) for one in thresholds])
            values = [test.sensitivities(one)["gt_sensitivity"] for one in thresholds]
            assert rows["gt_sensitivity"]["values"] == pytest.approx(values)
            assert told["n_features"] == results.model(name).n_features


def test_scores_are_those_of_the_saved_models(run: FinishedRun, results: StudyResults) -> None:
    features, scores = run.features(), run.table("scores")
    matrix = features.drop(columns=["image_id", "candidate_id"])
    for model in results.models:
        document = json.loads((run.root / model.file).read_text())
        told = {weight.name: weight.weight for weight in model.features}
        assert len(told) >= 1
        by_hand = (
            sum((weight * matrix[name].astype(float) for name, weight in told.items()), start=0.0)
            + model.intercept
        )
        assert scores[model.name].to_numpy() == pytest.approx(by_hand.to_numpy(), rel=1e-9, abs=1e-9)
        assert document["payload"]["kind"] in ("SoftMILLogisticRegression", "RVMMIL", "ReaderMixture")
        for weight in model.features:
            deviation = matrix.loc[in_parts(run, features, BOTH), weight.name].astype(float).std(ddof=0)
            assert weight.standardized == pytest.approx(weight.weight * deviation, rel=1e-6)


def in_parts(run: FinishedRun, table: pd.DataFrame, parts: set[str]) -> np.ndarray:
    split = run.table("images").set_index("image_id")["split"]
    return table["image_id"].map(split).isin(parts).to_numpy()


def test_out_of_fold_scores_cover_training_and_validation_only(run: FinishedRun) -> None:
    scores = run.table("scores")
    inside = in_parts(run, scores, BOTH)
    for model in ("soft", "b1", "b2"):
        column = scores[f"{model}_out_of_fold"]
        assert column[inside].notna().all()
        assert column[~inside].isna().all()
        assert (column[inside] != scores.loc[inside, model]).any()


def test_counts_of_the_study(run: FinishedRun, results: StudyResults, original: Path) -> None:
    marks, readings = pd.read_csv(original / "marks.csv"), pd.read_csv(original / "readings.csv")
    study = results.study
    assert (study.n_images, study.n_patients) == (36, 18)
    assert (study.n_marks, study.n_readings) == (len(marks), len(readings))
    assert study.n_readers == readings["reader_id"].nunique()
    truth, images = run.table("truth"), run.table("images")
    assert study.n_golden == int((truth["n_readers"] >= 2).sum())
    for part in study.parts:
        inside = images.loc[images["split"] == part.name, "image_id"]
        assert part.n_images == len(inside)
        assert part.n_golden == int((truth["image_id"].isin(inside) & (truth["n_readers"] >= 2)).sum())
    patients = [set(images.loc[images["split"] == part.name, "patient_id"]) for part in study.parts]
    assert all(one.isdisjoint(other) for one, other in combinations(patients, 2))


def test_reader_statistics_carry_codes(results: StudyResults, original: Path) -> None:
    readings = pd.read_csv(original / "readings.csv")
    codes = pd.read_csv(original / "reader_codes.csv").set_index("code")["reader_id"]
    readers = frame(results.readers.readers)
    assert readers["reader_id"].tolist() == [f"R{number}" for number in range(1, len(codes) + 1)]
    for row in readers.to_dict("records"):
        assert row["n_readings"] == int((readings["reader_id"] == codes[row["reader_id"]]).sum())
    assert {row["reader_id"] for row in results.model("b2").reader_importance} <= set(readers["reader_id"])


def test_every_number_is_read_back(run: FinishedRun) -> None:
    from overread.study.results import plain

    assert plain(run.results) == json.loads((run.root / "results.json").read_text())


def test_results_hold_no_time_and_no_machine(run: FinishedRun) -> None:
    text = (run.root / "results.json").read_text()
    assert __import__("socket").gethostname() not in text
    for word in ("written_at", "locked_at", "evaluated_at", "started", str(run.root)):
        assert word not in text


def test_a_damaged_or_older_file_is_refused(run: FinishedRun, tmp_path: Path) -> None:
    record = json.loads((run.root / "results.json").read_text())
    path = tmp_path / "results.json"
    path.write_text(json.dumps({**record, "schema_": "overread.results/0"}))
    with pytest.raises(FormatError, match="run the study again"):
        read_results(path)
    path.write_text(json.dumps({**record, "level": "high"}))
    with pytest.raises(FormatError, match="level"):
        read_results(path)


def test_the_gallery_adds_up(run: FinishedRun) -> None:
    threshold = run.threshold("soft", 0.5)
    assert threshold is not None
    gallery = run.gallery("soft", threshold)
    test = Recount(run, "soft", {"test"}, "soft", single_reader="ignore")
    assert len(gallery.hits) == sum(score >= threshold for score in test.best.values())
    assert len(gallery.hits) + len(gallery.misses) == len(test.best)
    assert len(gallery.false_positives) == sum(score >= threshold for score in test.false_scores)
    literal = Recount(run, "soft", {"test"}, "soft", single_reader="fp")
    shown = sum(score >= threshold for score in literal.false_scores)
    assert len(gallery.single_reader) == shown - len(gallery.false_positives)
    assert gallery.hits["candidate_x_mm"].notna().all()
    assert run.image_path("case 003").name == "003.png"
    assert run.mm_per_px("case 003") == (2.0, 2.0)
    assert run.judged("soft").test.n_gts == len(test.best)
