import pytest

from overread.apps.reproduction.command import (
    PAPER_COUNTS,
    PAPER_MODELS,
    normalization_rows,
    reproduction_page,
)
from overread.study import open_run, run_study
from study_chain import PAGE, leave_out
from study_stand_in import FAST, make_study, spec

SETTINGS = (
    FAST.replace('["bags", "class"]', '["none", "bags", "class"]')
    .replace("fp_targets = [0.5, 2.0]", "")
    .replace("[models]", '[hits]\nsingle_reader = "fp"\n[models]')
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    study = make_study(tmp_path_factory.mktemp("reproduction") / "study", settings=SETTINGS)
    with pytest.MonkeyPatch.context() as patch:
        leave_out(patch, PAGE)
        return open_run(run_study(study, pipeline=spec()).folder)


@pytest.fixture(scope="module")
def rows(run):
    return normalization_rows(run)


def test_division_by_the_number_of_features_scales_lambda_alone(run, rows):
    d = run.results.study.n_features
    for plain, divided in zip(rows[::2], rows[1::2], strict=True):
        assert (plain.divide_by_features, divided.divide_by_features) == (False, True)
        assert divided.lambda_max == pytest.approx(d * plain.lambda_max)
        assert divided.chosen == pytest.approx(d * plain.chosen)
        assert divided.n_features == plain.n_features


def test_sum_and_mean_differ_in_the_scale_of_lambda_alone(rows):
    total, mean = rows[0], rows[2]
    assert (total.normalization, mean.normalization) == ("none", "bags")
    assert total.chosen / total.lambda_max == pytest.approx(mean.chosen / mean.lambda_max)
    assert total.n_features == mean.n_features
    # In the sum, the paper's lambda is next to nothing.
    assert total.at_paper is None


def test_the_page_has_the_paper_s_numbers_beside_the_run_s(run, rows):
    page = reproduction_page(run, rows)
    assert "| images | 1,978 | 36 |" in page
    # 46 of 104.
    assert "| GT sensitivity, paper, of reached | 44.2 (35–54) | 55.8 (46–65) |" in page
    for model in run.results.models:
        counted = next(one for one in model.counted if one.single_reader == "fp")
        rows_of_test = counted.locked.query("source == 'in_sample' and measure == 'fp_per_image'")
        test = dict(zip(rows_of_test["fp_target"], rows_of_test["estimate"], strict=True))
        assert (
            "| FP per image, this run | " + " | ".join(f"{value:.2f}" for value in test.values()) + " |"
            in page
        )
    table = page.split("## Normalization")[1]
    assert table.count("\n|") == 2 + len(rows)
    assert len({line.count("|") for line in table.splitlines() if line.startswith("|")}) == 1


def are_shares(values, n):
    """Whether all percentages, to two digits, are counts out of n."""
    return list(values) == [round(100 * round(value * n / 100) / n, 2) for value in values]


def test_the_paper_s_table_has_108_numbers():
    sets = [one for model in PAPER_MODELS.values() for one in (model.training, model.test)]
    rows = [row for one in sets for row in (one.fp_per_image, one.gt_sensitivity, one.image_sensitivity)]
    assert sum(map(len, rows)) == 108
    assert all(list(row) == sorted(row) for row in rows)


@pytest.mark.parametrize(("part", "n_gts", "n_images"), [("training", 203, 140), ("test", 104, 77)])
def test_the_denominators_are_the_smallest_that_give_all_percentages(part, n_gts, n_images):
    """The paper does not tell them: of all numbers of GTs that there can be, the first that fits every percentage."""
    sets = [getattr(model, part) for model in PAPER_MODELS.values()]
    assert {(one.n_gts, one.n_images) for one in sets} == {(n_gts, n_images)}
    for measure, stated in (("gt_sensitivity", n_gts), ("image_sensitivity", n_images)):
        values = [value for one in sets for value in getattr(one, measure)]
        fitting = [n for n in range(1, 323) if are_shares(values, n)]
        assert fitting[0] == stated


def test_reached_gts_of_both_parts_are_fewer_than_all_golden_ones():
    """Why Table 1 is of reached GTs: its parts have 307 together, and the study has 322."""
    soft = PAPER_MODELS["soft"]
    assert soft.training.n_gts + soft.test.n_gts == 307 < PAPER_COUNTS["golden GTs"]
