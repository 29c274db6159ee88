import numpy as np
import pytest

from overread.errors import InvalidInputError
from overread.simulate import candidate_cohort
from overread.tables import check_study, raise_for_errors
from overread.truth import merge_marks, reader_statistics


@pytest.fixture(scope="module")
def cohort():
    return candidate_cohort(300, seed=1)


def test_the_same_seed_gives_the_same_tables(cohort):
    again = candidate_cohort(300, seed=1)
    for name in vars(cohort):
        assert getattr(again, name).equals(getattr(cohort, name))
    assert not candidate_cohort(300, seed=2).marks.equals(cohort.marks)


def test_the_tables_are_valid(cohort):
    raise_for_errors(check_study(cohort.marks, cohort.readings, cohort.images))


def test_better_readers_find_more(cohort):
    found = reader_statistics(cohort.marks, cohort.readings).readers.set_index("reader_id")["loo_sensitivity"]
    skill = np.linspace(-0.4, 0.4, 8)
    assert np.corrcoef(skill, found.loc[[f"R{i + 1}" for i in range(8)]])[0, 1] > 0.5


def test_golden_objects_lie_on_lesions(cohort):
    truth = merge_marks(cohort.marks, cohort.readings)
    golden = truth[truth["golden"]].merge(cohort.lesions, on="image_id", suffixes=("", "_lesion"))
    near = np.hypot(golden["x_mm"] - golden["x_mm_lesion"], golden["y_mm"] - golden["y_mm_lesion"])
    hit = golden.loc[near < golden["diameter_mm"] / 2, "truth_id"].nunique()
    assert hit / truth["golden"].sum() > 0.7


def test_only_the_informative_features_follow_the_lesions(cohort):
    features = cohort.features.drop(columns=["image_id", "candidate_id"])
    response = cohort.candidates["response"]
    correlation = features.corrwith(response).abs()
    informative = correlation.index.str.startswith("informative")
    assert correlation[informative].min() > 3 * correlation[~informative].max()


@pytest.mark.parametrize(
    "arguments", [{"n_images": 0}, {"n_readers": 0}, {"n_features": 5, "n_informative": 6}, {"seed": -1}]
)
def test_senseless_cohorts_are_refused(arguments):
    with pytest.raises(InvalidInputError):
        candidate_cohort(**{"n_images": 5, **arguments})
