import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr
from small_scenario import small_design

from overread.apps.scenario import _points as points_module
from overread.apps.scenario._contenders import CONTENDERS
from overread.apps.scenario._design import Condition
from overread.apps.scenario._draw import draw_seed, make_test_set, make_training_set
from overread.apps.scenario._points import (
    _foretell_shares,
    claim_folder,
    list_points,
    measure_point,
    run_points,
    tune_and_fit,
)
from overread.errors import InvalidInputError, LockedError
from overread.files import folder_lock
from overread.froc import froc_curve, sensitivity_at


def test_what_is_there_is_not_measured_again(design, folder, done, material, monkeypatch):
    monkeypatch.setattr(points_module, "measure_point", lambda *_, **__: pytest.fail("measured again"))
    assert len(run_points(design, material, folder)) == len(list(design.points()))


def test_a_point_that_is_gone_is_measured_again_and_is_the_same(design, folder, done, material):
    journal = folder / "points.journal"
    before = list_points(design, folder)
    content = journal.read_bytes()
    journal.write_bytes(content[:-30])
    assert len(list_points(design, folder)) == len(before) - 1
    again = run_points(design, material, folder)
    assert [replace(point, seconds=0) for point in again] == [replace(point, seconds=0) for point in before]


def test_more_seeds_and_models_keep_the_points_that_are_there(design, folder, done):
    larger = small_design(seeds=3, fit={"models": ["soft", "golden", "any", "majority"]})
    claim_folder(folder, larger)
    assert len(list_points(larger, folder)) == len(list(design.points()))
    claim_folder(folder, design)


def test_a_folder_whose_points_were_kept_in_another_way_is_refused(design, tmp_path, monkeypatch):
    monkeypatch.setattr(points_module, "LAYOUT", 1)
    claim_folder(tmp_path, design)
    monkeypatch.undo()
    with pytest.raises(InvalidInputError, match=r"another design or version.*--output"):
        claim_folder(tmp_path, design)


def test_a_folder_of_another_design_is_refused(folder, done):
    with pytest.raises(InvalidInputError, match=r"another design or version.*--output"):
        claim_folder(folder, small_design(readers={"false_marks": 0.1}))


def test_two_scenarios_do_not_write_to_one_folder(design, folder, done, material):
    with folder_lock(folder, "lock", "held"), pytest.raises(LockedError):
        run_points(design, material, folder)


def test_labels_that_are_the_same_are_fitted_once(design, folder, done):
    points = {
        (p.model, p.condition.readings, p.condition.images, p.seed): p for p in list_points(design, folder)
    }
    # With one reading all labels are 1.
    assert points["golden", 1, 40, 0].seconds == 0
    assert points["golden", 1, 40, 0].measures == points["soft", 1, 40, 0].measures
    assert points["golden", 4, 40, 0].measures != points["soft", 4, 40, 0].measures


def test_a_model_that_does_not_ask_who_marked_is_fitted_once_for_all_pools(material, tmp_path, monkeypatch):
    fitted = []
    measure = points_module.measure_point
    monkeypatch.setattr(
        points_module,
        "measure_point",
        lambda model, *a, **k: fitted.append(model.name) or measure(model, *a, **k),
    )
    design = small_design(
        seeds=1,
        readers={"images_per_reader": [0, 10]},
        grid={"images": [40], "readings": [4]},
        fit={"models": ["soft", "b1", "dawid_skene"]},
    )
    claim_folder(tmp_path, design)
    points = {(p.model, p.condition.images_per_reader): p for p in run_points(design, material, tmp_path)}
    assert sorted(fitted) == ["b1", "dawid_skene", "dawid_skene", "soft"]
    assert points["b1", 10].measures.known == points["b1", 0].measures.known
    # The readers are those of the pools, all the same.
    assert [points["soft", own].measures.n_readers for own in (0, 10)] == [4, 16]


def test_what_cannot_be_fitted_is_told_and_not_raised(material, tmp_path):
    design = small_design(
        seeds=1,
        grid={"images": [40], "readings": [1, 2, 4]},
        fit={"models": ["dawid_skene"], "min_positives": 10},
    )
    claim_folder(tmp_path, design)
    points = run_points(design, material, tmp_path)
    assert [bool(point.reason) for point in points] == [True, False, False]
    assert "two readings" in points[0].reason


@pytest.fixture(scope="module")
def sets(material, design):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        training = make_training_set(material, draw_seed(material, design, 1), Condition(80, 4), design)
        return training, make_test_set(material, design)


def test_a_point_tells_what_the_fitted_model_does_on_unseen_images(sets, design):
    training, test = sets
    model, settings = CONTENDERS["soft"], design.settings()
    told = measure_point(model, training, test, settings, fp_targets=[0.5, 1.0, 2.0], n_bootstrap=30, seed=0)
    fitted = tune_and_fit(model, training, settings, 0)
    scores = fitted.instance_decision_function(test.split.features.read(test.split.features.names))
    for found, matching in ((told.known, test.known), (told.golden, test.golden)):
        by_hand = sensitivity_at(froc_curve(matching.with_scores(scores)), [0.5, 1.0, 2.0])["gt_sensitivity"]
        np.testing.assert_allclose(found.sensitivity, by_hand)
        assert np.shape(found.draws) == (30, 3)
    assert told.n_features == np.count_nonzero(fitted.coef_)
    assert (told.n_readers, told.n_objects) == (4, len(training.truth))
    assert told.skills == []


def test_the_right_probabilities_explain_all_and_the_mean_explains_nothing():
    shares = np.tile([0.0, 0.25, 0.5, 0.75], 50)
    right = _foretell_shares(np.maximum(shares, 1e-5), shares)
    assert right.deviance == pytest.approx(0, abs=1e-4)
    assert right.spearman == pytest.approx(1)
    mean = _foretell_shares(np.full(200, shares.mean()), shares)
    assert mean.deviance == pytest.approx(mean.deviance_of_mean)
    assert np.isnan(mean.spearman)


def test_the_slope_is_below_1_where_probabilities_are_too_sure():
    random = np.random.default_rng(0)
    logits = random.normal(0, 1.5, 4000)
    shares = random.binomial(8, 1 / (1 + np.exp(-logits))) / 8
    sure = _foretell_shares(1 / (1 + np.exp(-2 * logits)), shares)
    assert sure.slope == pytest.approx(0.5, abs=0.03)
    assert sure.spearman == pytest.approx(spearmanr(logits[shares > 0], shares[shares > 0]).statistic)
