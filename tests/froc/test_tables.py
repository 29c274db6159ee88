"""Table 1 from matched scores.

The paper's Table 1 printed from its numbers; hostile names in every format.
"""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from overread.errors import InvalidInputError
from overread.froc import (
    FP_TARGETS,
    Matching,
    PerformanceTable,
    format_table,
    froc_curve,
    performance_at,
    performance_table,
    sensitivity_at,
)
from overread.froc._tables import ModelPerformance, PerformanceRows, Sensitivities


def simulated(seed, n_images=60):
    rng = np.random.default_rng(seed)
    gt_images = np.repeat(np.arange(n_images // 3), 2)
    fp_images = np.repeat(np.arange(n_images), 6)
    return Matching.from_events(
        n_images=n_images,
        fp_scores=rng.normal(size=len(fp_images)),
        fp_images=fp_images,
        gt_scores=rng.normal(1.5, 1, len(gt_images)),
        gt_images=gt_images,
    )


def test_rows_are_the_operating_points():
    training, test = simulated(1), simulated(2)
    table = performance_table({"Soft": (training, test)}, n_features={"Soft": 67}, n_bootstrap=100)
    (model,) = table.models
    own, carried = model.rows
    expected = sensitivity_at(froc_curve(training), FP_TARGETS)
    np.testing.assert_allclose(own.gt_sensitivity.values, expected["gt_sensitivity"])
    np.testing.assert_allclose(own.fp_per_image, expected["fp_per_image"])
    induced = performance_at(test, expected["threshold"])
    np.testing.assert_allclose(carried.fp_per_image, induced["fp_per_image"])
    np.testing.assert_allclose(carried.image_sensitivity.values, induced["image_sensitivity"])
    assert (own.induced, carried.induced, model.n_features) == (False, True, 67)
    assert (carried.n_images, carried.n_gts, carried.n_positive_images) == (60, 40, 20)
    low, high = carried.gt_sensitivity.lower, carried.gt_sensitivity.upper
    assert all(a <= v <= b for a, v, b in zip(low, carried.gt_sensitivity.values, high, strict=True))


def test_out_of_fold_thresholds_are_carried_to_both_sets():
    training, test, out_of_fold = simulated(1), simulated(2), simulated(3)
    table = performance_table(
        {"Soft": (training, test)}, thresholds_from={"Soft": out_of_fold}, fp_targets=[0.5], n_bootstrap=0
    )
    threshold = sensitivity_at(froc_curve(out_of_fold), [0.5])["threshold"]
    for rows, matching in zip(table.models[0].rows, (training, test), strict=True):
        assert rows.induced
        assert rows.fp_per_image[0] == performance_at(matching, threshold)["fp_per_image"][0]
        assert rows.gt_sensitivity.lower is None
    assert table.level is None


def test_sensitivities_of_reached_gts_have_their_own_denominators():
    """Three GTs in two images, of which one GT and its image are out of reach; half a false positive per image."""
    events = {"fp_scores": [1.0], "fp_images": [0], "gt_images": [0, 0, 1]}
    matching = Matching.from_events(n_images=2, gt_scores=[2.0, 0.5, -np.inf], **events)
    all_gts, reached = (
        performance_table({"m": (matching, None)}, objects=objects, fp_targets=[0.25, 0.5], n_bootstrap=20)
        .models[0]
        .rows[0]
        for objects in ("all", "reached")
    )
    assert (all_gts.n_gts, all_gts.n_positive_images) == (3, 2)
    assert (reached.n_gts, reached.n_positive_images) == (2, 1)
    assert all_gts.gt_sensitivity.values == pytest.approx((1 / 3, 2 / 3))
    assert reached.gt_sensitivity.values == pytest.approx((1 / 2, 1))
    assert all_gts.image_sensitivity.values == pytest.approx((1 / 2, 1 / 2))
    assert reached.image_sensitivity.values == pytest.approx((1, 1))
    assert all_gts.fp_per_image == reached.fp_per_image


def test_hostile_input_is_refused():
    with pytest.raises(InvalidInputError, match="at least one model"):
        performance_table({})
    with pytest.raises(InvalidInputError, match="fp_targets"):
        performance_table({"m": (simulated(1), None)}, fp_targets=[np.nan])
    with pytest.raises(InvalidInputError, match="objects='found'"):
        performance_table({"m": (simulated(1), None)}, objects="found")
    rows = [
        PerformanceRows(
            "a", induced=False, fp_per_image=(0.5,) * n, gt_sensitivity=part, image_sensitivity=part
        )
        for n, part in ((1, Sensitivities((0.5,))), (2, Sensitivities((0.5, 0.6))))
    ]
    with pytest.raises(InvalidInputError, match="same number"):
        PerformanceTable((ModelPerformance("m", tuple(rows)),))


# Stainvas, Manevitch, Leichter: Table 1, the Soft model and B2.
SOFT_TRAINING = [
    (0.50, 1.00, 1.50, 2.00, 2.50, 3.0),
    (49.75, 58.62, 62.56, 66.01, 70.44, 71.92),
    (57.14, 64.29, 67.14, 70.00, 75.71, 75.71),
]
SOFT_TEST = [
    (0.58, 1.19, 1.69, 2.24, 2.84, 3.37),
    (44.23, 55.77, 64.42, 67.31, 71.15, 75.96),
    (54.55, 62.34, 72.73, 75.32, 79.22, 80.52),
]
B2_TEST = [
    (0.61, 1.14, 1.75, 2.23, 2.70, 3.28),
    (47.12, 60.58, 66.35, 70.19, 77.88, 78.85),
    (54.55, 66.23, 72.73, 76.62, 84.42, 84.42),
]


def rows(numbers, name, *, induced, total_gts=None, total_images=None):
    """Rows of the paper; where totals are given, from the whole counts behind its percentages."""
    fp, gts, images = numbers

    def fractions(values, total):
        return tuple(v / 100 if total is None else round(v / 100 * total) / total for v in values)

    return PerformanceRows(
        name,
        induced=induced,
        fp_per_image=fp,
        gt_sensitivity=Sensitivities(fractions(gts, total_gts)),
        image_sensitivity=Sensitivities(fractions(images, total_images)),
    )


def paper_table():
    training = rows(
        SOFT_TRAINING, '"training+validation" data', induced=False, total_gts=203, total_images=140
    )
    test = rows(SOFT_TEST, "test data", induced=True, total_gts=104, total_images=77)
    soft = ModelPerformance("Soft Model", (training, test), "lambda=0.060000", 67)
    b2 = ModelPerformance("Model B2", (rows(B2_TEST, "test data", induced=True),), n_features=203)
    return PerformanceTable((soft, b2))


def hostile_table():
    limits = Sensitivities((0.5, float("nan")), (0.4, float("nan")), (0.6, float("nan")))
    one = PerformanceRows(
        "a|b_c & <d>", induced=True, fp_per_image=(0.5, 1.0), gt_sensitivity=limits, image_sensitivity=limits
    )
    name = r"<script>alert(1)</script> 100% \input{x} $y^2$ ~#|*\n"
    return PerformanceTable((ModelPerformance(name + "\n\x1b[31m", (one,), "a & b"),), 0.95, "5 mm", "fp")


def test_latex_has_the_papers_rows():
    """The percentages are whole counts over 203, 140, 104 and 77; the printed rows are the paper's."""
    lines = format_table(paper_table(), "latex").splitlines()
    assert r"\multicolumn{7}{|c|}{{\bf Soft Model: lambda=0.060000} 67 features} \\ \hline" in lines
    assert r"& \multicolumn{6}{|c|}{induced FP per image} \\ \hline" in lines
    assert r" & 0.58 & 1.19 & 1.69 & 2.24 & 2.84 & 3.37 \\" in lines
    for numbers, label in ((SOFT_TRAINING, "training"), (SOFT_TEST, "test"), (B2_TEST, "test")):
        for name, values in (("Sensitivity", numbers[1]), ("Image sensitivity", numbers[2])):
            assert " & ".join([name, *(f"{v:.2f}" for v in values)]) + r" \\" in lines, label
    assert lines[0] == r"\begin{tabular}{|l|l|l|l|l|l|l|} \hline"
    assert lines[-1] == r"\end{tabular}"


def test_markdown_has_the_same_numbers():
    markdown = format_table(paper_table(), "markdown")
    assert "Soft Model: lambda=0.060000, 67 features" in markdown
    assert "| Sensitivity | 44.23 | 55.77 | 64.42 | 67.31 | 71.15 | 75.96 |" in markdown
    assert "| induced FP per image | 0.58 | 1.19 | 1.69 | 2.24 | 2.84 | 3.37 |" in markdown


def test_html_is_well_formed_and_escaped():
    for table in (paper_table(), hostile_table()):
        page = format_table(table, "html").replace("<br>", "<br/>").replace("\x1b", "")
        root = ElementTree.fromstring(page)
        width = {
            sum(int(cell.get("colspan", 1)) for cell in row) for part in root.iter("tr") for row in [part]
        }
        assert len(width) == 1
        assert not list(root.iter("script"))


def test_hostile_names_cannot_break_out():
    latex = format_table(hostile_table(), "latex")
    assert r"\textbackslash{}input\{x\}" in latex
    assert r"\textless{}script\textgreater{}" in latex
    assert r"100\%" in latex
    assert "40.0--60.0" in latex
    markdown = format_table(hostile_table(), "markdown")
    assert r"\<script\>" in markdown
    assert all(line.count(" | ") == 2 for line in markdown.splitlines() if line.startswith("| "))
    assert "\x1b" not in markdown
    assert "40.0-60.0" in markdown
