"""Section 6: the choice of lambda from two intervals, and what Table 1 counts, each written out once more plainly."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest

from overread.froc import (
    AlphaRule,
    Counting,
    PathModels,
    ScoredSplit,
    choose_alpha,
    match_detections,
    performance_table,
)
from overread.study import parse_settings

# The curves of Figure 3 are not in the paper's text; these are drawn such that they give the intervals that it reads
# off: [0.05, 0.16] at 0.5 FP per image and [0.03, 0.08] at 1. To the left of an interval training is far above
# validation, to the right both fall.
LAMBDAS = (0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.1, 0.12, 0.16, 0.2, 0.25)
VALIDATION = {
    0.5: (0.38, 0.40, 0.42, 0.44, 0.48, 0.49, 0.48, 0.48, 0.48, 0.48, 0.48, 0.38, 0.30),
    1.0: (0.46, 0.48, 0.58, 0.58, 0.58, 0.59, 0.58, 0.58, 0.48, 0.46, 0.44, 0.42, 0.40),
}
TRAINING = {
    0.5: (0.80, 0.74, 0.58, 0.57, 0.51, 0.51, 0.50, 0.50, 0.49, 0.49, 0.48, 0.38, 0.30),
    1.0: (0.90, 0.84, 0.61, 0.61, 0.60, 0.60, 0.59, 0.59, 0.50, 0.48, 0.46, 0.42, 0.40),
}
N_FEATURES = (400, 300, 220, 150, 90, 67, 60, 52, 45, 38, 30, 22, 15)
# A third of 1978 images and of 322 golden GTs.
PAPER_SIZE = (659, 107)


def draw_set(name, n_images, n_gts):
    """Images with one candidate off every GT each two times, and a GT with a candidate on it in the first of them."""
    ids = [f"{name}{k:04d}" for k in range(n_images)]
    rows = [(image, f"{k}", 90.0 * (k + 1), 10.0) for image in ids for k in range(2)]
    rows += [(image, "hit", 10.0, 10.0) for image in ids[:n_gts]]
    candidates = pd.DataFrame(rows, columns=["image_id", "candidate_id", "x_mm", "y_mm"]).assign(score=0.0)
    truth = pd.DataFrame({"image_id": ids[:n_gts], "truth_id": "g", "x_mm": 10.0, "y_mm": 10.0})
    truth = truth.assign(semi_major_mm=5.0, semi_minor_mm=5.0, angle_deg=0.0, n_readers=2)
    return match_detections(candidates, truth, pd.DataFrame({"image_id": ids}))


def score_set(n_images, n_gts, at_half, at_one):
    """Scores by which these shares of the GTs are found at 0.5 and at 1 FP per image.

    Of the two other candidates of an image one scores between 0 and 1, evenly over the images, so that the threshold
    for 0.5 FP per image is near 0.5 and that for 1 near 0. GTs score 1.5, 0.1 or -2, also evenly over the images.
    """
    strong = (np.arange(n_images) * 0.7548776662) % 1
    others = np.column_stack([strong, strong - 1]).ravel()
    place = (np.arange(n_gts) * 0.6180339887) % 1
    rank = place.argsort().argsort() / n_gts
    hits = np.where(rank < at_half - 1e-9, 1.5, np.where(rank < at_one - 1e-9, 0.1, -2.0))
    return np.concatenate([others, hits])


def choose(size, training=TRAINING, validation=VALIDATION, **rule):
    n_images, n_gts = size
    columns = [
        np.column_stack([score_set(n_images, n_gts, *pair) for pair in zip(one[0.5], one[1.0], strict=True)])
        for one in (training, validation)
    ]
    sets = [
        ScoredSplit(draw_set(name, n_images, n_gts), scores)
        for name, scores in zip("tv", columns, strict=True)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return choose_alpha(
            PathModels(LAMBDAS, N_FEATURES), *sets, AlphaRule(**rule), n_bootstrap=200, seed=1
        )


@pytest.fixture(scope="module")
def paper_s_choice():
    """By the rule of the preset, at the paper's size."""
    return choose(PAPER_SIZE, pick=parse_settings({"preset": "paper"}).soft.pick)


def test_the_paper_s_intervals_and_choice(paper_s_choice):
    intervals = paper_s_choice.intervals.set_index("fp_target")
    assert intervals.loc[0.5, ["lowest", "highest"]].tolist() == [0.05, 0.16]
    assert intervals.loc[1.0, ["lowest", "highest"]].tolist() == [0.03, 0.08]
    assert paper_s_choice.intersects
    assert (paper_s_choice.alpha, paper_s_choice.n_features) == (0.06, 67)


def test_at_the_paper_s_size_the_bounds_are_the_same_without_standard_errors(paper_s_choice):
    fixed = choose(PAPER_SIZE, pick="best", n_standard_errors=0)
    assert fixed.table["accepted"].tolist() == paper_s_choice.table["accepted"].tolist()
    assert fixed.alpha == 0.06


def test_the_rule_is_that_of_plain_loops(paper_s_choice):
    """Accepted and chosen, from the table's own sensitivities, one lambda after the other."""
    table = paper_s_choice.table
    accepted = {}
    for fp, rows in table.groupby("fp_target"):
        rows = rows.to_dict("records")
        for row in rows:
            good = True
            for measure in ("gt_sensitivity", "image_sensitivity"):
                best = max(one[f"validation_{measure}"] for one in rows)
                good &= best - row[f"validation_{measure}"] <= 0.02 + 1e-9
                good &= abs(row[f"training_{measure}"] - row[f"validation_{measure}"]) <= 0.05 + 1e-9
            accepted[fp, row["lam"]] = good
    both = [lam for lam in LAMBDAS if accepted[0.5, lam] and accepted[1.0, lam]]
    assert both == [0.05, 0.06, 0.07, 0.08]
    mean = {lam: np.mean([VALIDATION[fp][LAMBDAS.index(lam)] for fp in (0.5, 1.0)]) for lam in both}
    assert paper_s_choice.alpha == max(both, key=lambda lam: mean[lam])


def test_bounds_follow_the_standard_error_of_paired_differences():
    """With 30 GTs in each set: counted by hand, by how much a difference of found GTs varies."""
    n = 30
    found = {"best": 15, "other": 12}
    valid = {0.5: (found["best"] / n, found["other"] / n), 1.0: (0.5, 0.4)}
    # GTs that both find are the same, so that the difference is of the three that one finds alone; one GT an image.
    share = 3 / n
    of_difference = math.sqrt(share * (1 - share) / n)
    assert 0.02 < of_difference < share
    for k, good in ((1.0, False), (2.0, True)):
        result = two_models(valid, n, n_standard_errors=k)
        assert (k * of_difference >= share) == good
        assert result.table["accepted"].tolist() == [True, good] * 2


def two_models(curves, n, **rule):
    sets = []
    for name in "tv":
        scores = [score_set(n, n, curves[0.5][k], curves[1.0][k]) for k in range(2)]
        sets.append(ScoredSplit(draw_set(name, n, n), np.column_stack(scores)))
    return choose_alpha(PathModels([0.1, 0.2], [9, 4]), *sets, AlphaRule(**rule), n_bootstrap=2000, seed=0)


def test_where_noise_hides_the_curves_the_intervals_still_cross():
    """Sets of 67 GTs drawn from the curves: fixed bounds rarely leave a lambda, those of the rule mostly do."""
    random = np.random.default_rng(6)
    n = 67
    crossed = {0: 0, 1: 0}
    for _ in range(12):
        drawn = []
        for curves in (TRAINING, VALIDATION):
            # The same GTs under all lambdas: each has a strength, and a lambda finds those above its own bound.
            strength = np.sort(random.random(n))
            drawn.append({fp: [np.mean(strength < value) for value in curves[fp]] for fp in curves})
        for k in crossed:
            crossed[k] += choose((200, n), *drawn, n_standard_errors=k).intersects
    assert crossed[1] >= crossed[0] + 4
    assert crossed[1] >= 9


# A hand-made cohort: four images, five golden GTs and one of a single reader. "far" has no candidate near.
TRUTH = [
    ("a", "g1", 20, 2),
    ("a", "g2", 60, 3),
    ("a", "single", 100, 1),
    ("b", "g3", 20, 2),
    ("b", "far", 200, 2),
    ("c", "lone", 300, 4),
]
# image, id, x, score: two on g1, one on each of g2 and g3 and on the single reader's, the others on nothing.
FOUND = [
    ("a", "1", 20, 0.9),
    ("a", "2", 22, 0.8),
    ("a", "3", 60, 0.3),
    ("a", "4", 100, 0.7),
    ("b", "5", 20, 0.6),
    ("b", "6", 120, 0.5),
    ("d", "7", 20, 0.4),
    ("d", "8", 23, 0.35),
]


def count_plainly(threshold, *, paper):
    """FP per image, GT sensitivity and image sensitivity in loops; the paper's counting, or our defaults."""
    shown = [row for row in FOUND if row[3] >= threshold]
    if not paper:
        # One that lies on a stronger one, within the radius of 8 mm, is not shown.
        shown = [
            row
            for row in shown
            if not any(o[0] == row[0] and o[3] > row[3] and abs(o[2] - row[2]) < 8 for o in FOUND)
        ]
    golden = [(image, x) for image, _, x, readers in TRUTH if readers > 1]
    single = [(image, x) for image, _, x, readers in TRUTH if readers == 1]

    def is_on(row, places):
        return any(row[0] == image and abs(row[2] - x) <= 6 for image, x in places)

    fps = sum(not is_on(row, golden) and (paper or not is_on(row, single)) for row in shown)
    reached = [gt for gt in golden if any(is_on(row, [gt]) for row in FOUND)]
    of = reached if paper else golden
    found = [gt for gt in of if any(is_on(row, [gt]) for row in shown)]
    images, found_images = {image for image, _ in of}, {image for image, _ in found}
    return fps / 4, len(found) / len(of), len(found_images) / len(images), len(of), len(images)


@pytest.mark.parametrize("paper", [True, False])
def test_table_1_counts_by_the_preset_and_by_the_defaults(paper):
    """The logic of the paper's 203, 104, 140 and 77: GTs and images that no candidate reaches are not counted."""
    settings = parse_settings({"preset": "paper" if paper else ""})
    candidates = pd.DataFrame(FOUND, columns=["image_id", "candidate_id", "x_mm", "score"])
    candidates = candidates.astype({"x_mm": float}).assign(y_mm=20.0, radius_mm=8.0)
    truth = pd.DataFrame(TRUTH, columns=["image_id", "truth_id", "x_mm", "n_readers"]).astype({"x_mm": float})
    truth = truth.assign(y_mm=20.0, semi_major_mm=6.0, semi_minor_mm=6.0, angle_deg=0.0)
    matching = match_detections(
        candidates,
        truth,
        pd.DataFrame({"image_id": ["a", "b", "c", "d"]}),
        counting=Counting(
            rule=settings.hits.hit_rule(),
            single_reader=settings.hits.single_reader,
            repeats=settings.hits.repeats,
        ),
    )
    targets = [0.25, 0.5, 1.0]
    table = performance_table(
        {"m": (matching, None)}, objects=settings.evaluation.objects, fp_targets=targets, n_bootstrap=0
    )
    rows = table.models[0].rows[0]
    thresholds = sorted({row[3] for row in FOUND}, reverse=True)
    for k, target in enumerate(targets):
        # The lowest threshold with no more FPs than the target.
        lowest = [t for t in thresholds if count_plainly(t, paper=paper)[0] <= target][-1]
        fp, gt, image, n_gts, n_images = count_plainly(lowest, paper=paper)
        assert rows.fp_per_image[k] == fp
        assert rows.gt_sensitivity.values[k] == pytest.approx(gt)
        assert rows.image_sensitivity.values[k] == pytest.approx(image)
        assert (rows.n_gts, rows.n_positive_images) == (n_gts, n_images)
    assert (rows.n_gts, rows.n_positive_images) == ((3, 2) if paper else (5, 3))
