"""The numbers of results.json, counted again from the tables without the package's own matching."""

from __future__ import annotations

import math
import socket
from collections import defaultdict
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from overread.files.records import to_json
from overread.froc import MEASURES
from overread.report.results import StudyResults
from overread.study import Run, open_run
from overread.study.stages.evaluation import choose_examples, keep_corners, nearest_target, shown_point
from overread.study.store.run_folder import json_bytes
from study_chain import Chain, show_by_hand

MODELS = ["soft", "b1", "b2", "boosted"]


@pytest.fixture(scope="module")
def run(chain: Chain) -> Run:
    return open_run(chain.folder.root)


@pytest.fixture(scope="module")
def results(run: Run) -> StudyResults:
    return run.results


class Recount:
    """Sensitivities and false positives by hand: loops over images, candidates and objects."""

    def __init__(self, run: Run, model: str, parts: set[str], column: str, *, single_reader: str) -> None:
        images = run.table("images")
        self.images = [row.image_id for row in images.itertuples() if row.split in parts]
        candidates = run.table("candidates").merge(run.table("scores"), on=["image_id", "candidate_id"])
        candidates = candidates[candidates["image_id"].isin(self.images)].reset_index(drop=True)
        shown = show_by_hand(candidates, candidates[column].tolist())
        assert 0 < shown.sum() < len(shown)
        reached = set()
        self.false_scores: list[float] = []
        self.best: dict[tuple[str, str], float] = {}
        truths, found = defaultdict(list), defaultdict(list)
        for row in run.table("truth").itertuples():
            truths[row.image_id].append(row)
        for row, is_shown in zip(candidates.to_dict("records"), shown, strict=True):
            found[row["image_id"]].append({**row, "is_shown": is_shown})
        for image in self.images:
            for truth in truths[image]:
                if truth.golden:
                    self.best[image, truth.truth_id] = -math.inf
            for candidate in found[image]:
                hits = [truth for truth in truths[image] if self.is_hit(candidate, truth)]
                golden = [truth for truth in hits if truth.golden]
                reached |= {(image, truth.truth_id) for truth in golden}
                if not candidate["is_shown"]:
                    continue
                for truth in golden:
                    key = (image, truth.truth_id)
                    self.best[key] = max(self.best[key], candidate[column])
                if not golden and not (hits and single_reader == "ignore"):
                    self.false_scores.append(candidate[column])
        self.reached = reached

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
        reached = self.reached
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


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("treatment", ["ignore", "fp"])
def test_operating_points_and_test_figures(
    run: Run, results: StudyResults, model: str, treatment: str
) -> None:
    counted = next(one for one in results.model(model).counted if one.single_reader == treatment)
    locked = counted.locked
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
    band = counted.test.band
    for target in results.fp_targets:
        rows = band[band["fp_target"] == target].set_index("measure")
        for measure, value in test.sensitivities(test.threshold(target)).items():
            assert rows.loc[measure, "estimate"] == pytest.approx(value, abs=1e-12)
            assert rows.loc[measure, "lower"] <= value <= rows.loc[measure, "upper"]
    assert counted.test.n_gts == len(test.best)
    assert counted.test.n_images == len(test.images)


@pytest.mark.parametrize("model", MODELS)
def test_the_curve_keeps_every_step(run: Run, results: StudyResults, model: str) -> None:
    test = Recount(run, model, {"test"}, model, single_reader="ignore")
    curve = results.model(model).counted[0].test.curve
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


def test_table_1_says_the_same(run: Run, results: StudyResults) -> None:
    wanted = [("in_sample", "fp"), ("in_sample", "ignore"), ("out_of_fold", "ignore")]
    assert [(one.source, one.single_reader) for one in results.tables] == wanted
    for entry in results.tables:
        for told in entry.table.models:
            name = told.name.lower()
            column = name if entry.source == "in_sample" else f"{name}_out_of_fold"
            training = Recount(run, name, BOTH, column, single_reader=entry.single_reader)
            test = Recount(run, name, {"test"}, name, single_reader=entry.single_reader)
            thresholds = [training.threshold(target) for target in results.fp_targets]
            rows = told.rows[1]
            assert rows.induced
            assert rows.fp_per_image == pytest.approx([test.fp_per_image(one) for one in thresholds])
            values = [test.sensitivities(one)["gt_sensitivity"] for one in thresholds]
            assert rows.gt_sensitivity.values == pytest.approx(values)
            assert told.n_features == results.model(name).n_features


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


def test_counts_of_the_study(run: Run, results: StudyResults, chain: Chain) -> None:
    marks, readings = pd.read_csv(chain.study / "marks.csv"), pd.read_csv(chain.study / "readings.csv")
    study = results.study
    assert (study.n_images, study.n_patients) == (36, 18)
    assert (study.n_marks, study.n_readings) == (len(marks), len(readings))
    assert study.n_readers == readings["reader_id"].nunique()
    truth, images = run.table("truth"), run.table("images")
    assert study.n_golden == int((truth["n_readers"] >= 2).sum())
    for part in study.splits:
        inside = images.loc[images["split"] == part.name, "image_id"]
        assert part.n_images == len(inside)
        assert part.n_golden == int((truth["image_id"].isin(inside) & (truth["n_readers"] >= 2)).sum())
    patients = [set(images.loc[images["split"] == part.name, "patient_id"]) for part in study.splits]
    assert all(one.isdisjoint(other) for one, other in combinations(patients, 2))


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
    assert json_bytes(made) == content
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


def test_settings_are_those_that_matter(chain: Chain, results: StudyResults) -> None:
    plain = chain.settings.to_plain()
    assert results.settings == {
        name: value for name, value in plain.items() if name not in ("limits", "execution", "name")
    }


def test_comparisons_are_of_every_two_models(results: StudyResults) -> None:
    found = [(one.first, one.second, one.single_reader) for one in results.comparisons]
    assert found == [(*pair, how) for how in ("ignore", "fp") for pair in combinations(MODELS, 2)]
    for one in results.comparisons:
        rows = one.points
        assert rows["difference"].to_numpy() == pytest.approx((rows["second"] - rows["first"]).to_numpy())
        assert bool(one.figures) == (one.single_reader == "ignore")


def test_sizes_lose_no_object(results: StudyResults) -> None:
    for model in results.models:
        shown, other = model.counted
        assert (shown.single_reader, other.single_reader) == ("ignore", "fp")
        assert shown.by_size["n_gts"].sum() == shown.test.n_gts
        assert other.by_size.empty


def test_quarantined_images_are_told(chain: Chain) -> None:
    lost = [{"image_id": "case 099", "kind": "image", "reason": "is not an image"}]
    (made,) = chain.call("results", quarantined=lost).values()
    assert made["study"]["quarantined"] == lost


def test_corners_keep_the_step_curve() -> None:
    random = np.random.default_rng(0)
    steps = np.cumsum(random.random((200, 4)) < 0.05, axis=0) / 20
    curve = pd.DataFrame(steps, columns=list(MEASURES)).assign(fp_per_image=np.arange(200) / 50)
    corners = keep_corners(curve)
    assert 2 < len(corners) < 80
    assert corners.index[0] == 0
    assert corners.index[-1] == 199
    # Drawn as steps, the corners are the curve: between two corners nothing changes.
    filled = corners.reindex(curve.index).ffill()
    assert np.array_equal(filled[list(MEASURES)], curve[list(MEASURES)])


def test_a_curve_of_one_point() -> None:
    curve = pd.DataFrame({name: [np.nan] for name in MEASURES})
    assert len(keep_corners(curve)) == 1


@pytest.mark.parametrize(("targets", "expected"), [([0.5, 2.0], 0.5), ([0.25, 1.0, 4.0], 1.0), ([3.0], 3.0)])
def test_the_point_that_the_page_speaks_of(targets: list[float], expected: float) -> None:
    assert nearest_target(targets) == expected


def test_the_shown_point_is_locked_out_of_fold(chain: Chain, run: Run) -> None:
    points = pd.DataFrame(chain.load("operating_points.json"))
    assert shown_point(points, "b1", chain.settings) == (0.5, run.threshold("b1", 0.5))


def test_examples_are_the_images_with_most_to_see(chain: Chain) -> None:
    marks, truth = chain.load("tables/marks.parquet"), chain.load("tables/truth.parquet")
    weight = {
        image: rows["n_marks"].sum() + 2 * min(len(rows), 3) for image, rows in truth.groupby("image_id")
    }
    chosen = choose_examples(marks, truth)
    assert len(chosen) == 2
    assert [weight[one.image_id] for one in chosen] == sorted(weight.values(), reverse=True)[:2]
    for one in chosen:
        assert len(one.marks) == one.objects["n_marks"].sum()
