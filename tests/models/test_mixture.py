"""ReaderMixture, its bags per reader, the tuning rule and Figure 5."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from overread.bags import make_bags, reader_bags
from overread.errors import DataWarning, InvalidInputError, TableError
from overread.models import RVMMIL, ReaderMixture, reader_importance_figure, tune
from overread.simulate import candidate_cohort
from overread.truth import HIT, candidate_hits, merge_marks


@pytest.fixture(scope="module")
def cohort():
    return candidate_cohort(150, n_readers=4, n_features=20, n_informative=6, seed=1)


@pytest.fixture(scope="module")
def golden(cohort):
    truth = merge_marks(cohort.marks, cohort.readings)
    return make_bags(cohort.candidates, cohort.features, truth, labels="golden", images=cohort.images)


def bags_of(cohort, marks=None):
    marks = cohort.marks if marks is None else marks
    return reader_bags(cohort.candidates, cohort.features, marks, cohort.readings, images=cohort.images)


@pytest.fixture(scope="module")
def mixture(cohort, golden):
    return ReaderMixture(n_bootstrap=20).fit(golden, reader_bags=bags_of(cohort))


def test_reader_bags_hold_the_images_read_and_the_marks_hit(cohort):
    readers = bags_of(cohort)
    assert list(readers) == ["R1", "R2", "R3", "R4"]
    bags = readers["R2"]
    read = cohort.readings.loc[cohort.readings["reader_id"] == "R2", "image_id"]
    assert set(bags.bag_table["image_id"]) <= set(read)
    own = cohort.marks[cohort.marks["reader_id"] == "R2"]
    hits = candidate_hits(cohort.candidates, own, HIT)
    near = cohort.candidates.iloc[hits["candidate_row"].unique()]["candidate_id"]
    positive = bags.labels[bags.bag_of_instance] == 1
    assert {key[1] for key in bags.instance_ids[positive]} == set(near)


def test_a_mark_without_a_reading_is_refused(cohort):
    marks = cohort.marks.copy()
    marks.loc[0, "reader_id"] = "R9"
    with pytest.raises(TableError, match="R9"):
        bags_of(cohort, marks)


def test_the_mixture_is_the_sum_of_its_readers(mixture, golden):
    scores = golden.instances.astype(float) @ mixture.reader_coefs_.T + mixture.reader_intercepts_
    standard = (scores - mixture.score_means_) / mixture.score_deviations_
    np.testing.assert_allclose(standard.std(axis=0), 1.0, rtol=1e-6)
    mixed = standard @ mixture.importance_ + mixture.mixture_intercept_
    np.testing.assert_allclose(mixture.decision_instance_function(golden), mixed, atol=1e-8)
    assert mixture.n_features_ == np.count_nonzero(mixture.reader_coefs_.any(axis=0))
    table = mixture.reader_importance_
    assert (table["low"] < table["high"]).all()


def test_same_seed_same_answer_and_saving(mixture, cohort, golden, tmp_path):
    again = ReaderMixture(n_bootstrap=20).fit(golden, reader_bags=bags_of(cohort))
    np.testing.assert_array_equal(again.interval_, mixture.interval_)
    loaded = ReaderMixture.load(mixture.save(tmp_path / "b2.json"))
    np.testing.assert_array_equal(loaded.decision_function(golden), mixture.decision_function(golden))
    assert loaded.reader_importance_.equals(mixture.reader_importance_)


def test_out_of_fold_scores_differ(mixture, cohort, golden):
    fair = ReaderMixture(scores="out_of_fold", cv=3, n_bootstrap=0).fit(golden, reader_bags=bags_of(cohort))
    np.testing.assert_array_equal(fair.reader_coefs_, mixture.reader_coefs_)
    assert not np.allclose(fair.importance_, mixture.importance_)


def test_a_silent_reader_and_one_who_marks_everything_are_left_out(cohort, golden):
    readers = {name: bags for name, bags in bags_of(cohort).items() if name != "R4"}
    readers["silent"] = readers["R1"].with_labels(np.zeros(len(readers["R1"])))
    readers["eager"] = readers["R1"].with_labels(np.ones(len(readers["R1"])))
    with pytest.warns(DataWarning, match=r"silent.*eager"):
        model = ReaderMixture(n_bootstrap=0).fit(golden, reader_bags=readers)
    assert list(model.left_out_readers_) == ["silent", "eager"]
    assert list(model.reader_ids_) == ["R1", "R2", "R3"]


def test_a_copied_reader_shares_the_weight(cohort, golden):
    readers = {"R1": bags_of(cohort)["R1"]}
    alone = ReaderMixture(n_bootstrap=0).fit(golden, reader_bags=readers)
    both = ReaderMixture(n_bootstrap=0).fit(golden, reader_bags=readers | {"copy": readers["R1"]})
    np.testing.assert_allclose(both.importance_, alone.importance_[0] / 2, rtol=1e-3)


def test_no_reader_left_is_an_error(cohort, golden):
    bags = bags_of(cohort)["R1"]
    with (
        pytest.warns(DataWarning, match="left out"),
        pytest.raises(InvalidInputError, match="no reader has enough marks"),
    ):
        ReaderMixture().fit(golden, reader_bags={"R1": bags.with_labels(np.zeros(len(bags)))})


def test_tuning_takes_the_best_on_validation(golden):
    half = len(golden) // 2
    parts = {"training": golden[:half], "validation": golden[half:], "merged": golden}
    settings = [RVMMIL(prune_bound=bound) for bound in (10.0, 1e6)]
    result = tune(settings, **parts)
    scores = [
        -model.fit(golden[:half], golden.labels[:half]).score(golden[half:], golden.labels[half:])
        for model in settings
    ]
    assert result.position == int(np.argmin(scores))
    assert result.table["prune_bound"].tolist() == [10.0, 1e6]
    inside = tune(settings, **parts, rule="in_sample")
    assert inside.table["validation_score"].isna().all()
    assert inside.table["training_score"].idxmax() == inside.position


def test_figure_5_draws_a_bar_a_reader(mixture):
    figure = reader_importance_figure(mixture.reader_importance_)
    heights = [bar.get_height() for bar in figure.axes[0].patches]
    np.testing.assert_allclose(heights, mixture.importance_)


@pytest.mark.slow
def test_importance_follows_skill_on_average():
    """Mean rank correlation over cohorts is positive, though single cohorts say little."""
    found = []
    for seed in range(6):
        cohort = candidate_cohort(600, seed=seed)
        truth = merge_marks(cohort.marks, cohort.readings)
        bags = make_bags(cohort.candidates, cohort.features, truth, labels="golden", images=cohort.images)
        model = ReaderMixture(n_bootstrap=0).fit(bags, reader_bags=bags_of(cohort))
        found.append(spearmanr(model.importance_, np.arange(8)).statistic)
    assert np.mean(found) > 0.1
