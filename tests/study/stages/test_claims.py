"""The answers to the paper's claims, and their words, where they are yes, no and undecided."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata

from overread.froc import MeanDifference
from overread.report import Claims, StudyResults
from overread.report._words import list_claims
from overread.study.stages.claims import (
    judge_alike,
    judge_compact,
    judge_penalty,
    judge_shift,
    judge_weights,
    rank_correlation_interval,
)
from study_chain import Chain

LEVEL = 0.95
NOTHING = Claims(None, None, None, None, None)


def pair(first, second, difference, half_width, p_value=0.5):
    mean = MeanDifference(difference, difference - half_width, difference + half_width, p_value)
    return SimpleNamespace(first=first, second=second, mean=mean)


@pytest.fixture
def tell(results: StudyResults):
    """Say the one claim that is given, as the page does."""

    def tell(**claim):
        (line,) = list_claims(replace(results, claims=replace(NOTHING, **claim)))
        return line

    return tell


ALIKE = {
    "yes": ([pair("soft", "b1", -0.02, 0.02), pair("soft", "b2", 0.01, 0.03)], 100),
    "no": ([pair("soft", "b1", -0.02, 0.02, 0.9), pair("soft", "b2", 0.2, 0.05, 1e-6)], 100),
    "undecided": ([pair("soft", "b1", -0.02, 0.02), pair("soft", "b2", 0.01, 0.05)], 100),
}


@pytest.mark.parametrize("answer", ALIKE)
def test_models_are_alike_within_the_margin_alone(answer, tell):
    claim = judge_alike(*ALIKE[answer], LEVEL)
    line = tell(alike=claim)
    assert claim.answer == line.answer == answer
    said = {
        "yes": "B1 minus Soft, the deciding pair: -2.0 (-4.0 to +0.0) points",
        "no": "B2 minus Soft, the deciding pair: +20.0 (+15.0 to +25.0) points",
        "undecided": "B2 minus Soft, the deciding pair: +1.0 (-4.0 to +6.0) points",
    }[answer]
    assert line.evidence.startswith(said)
    assert "within ±5 points" in line.evidence
    assert "too few" not in line.evidence


def test_a_difference_within_the_margin_is_alike_though_it_is_no_chance():
    assert judge_alike([pair("soft", "b1", 0.03, 0.01, 1e-8)], 200, LEVEL).answer == "yes"


def test_few_objects_on_which_no_model_differs_do_not_show_that_models_are_alike(tell):
    """By the rule of three, 59 objects leave a difference of 5.1 points possible, and 60 one of 5."""
    equal = [pair("soft", "b1", 0.0, 0.0, 1.0)]
    assert judge_alike(equal, 60, LEVEL).answer == "yes"
    few = judge_alike(equal, 59, LEVEL)
    assert few.answer == "undecided"
    assert tell(alike=few).evidence.endswith("It does, but 59 consensus objects cannot show it.")


def test_many_pairs_need_a_smaller_p_value():
    pairs = [pair("soft", "b1", 0.07, 0.06, 0.02)]
    assert judge_alike(pairs, 100, LEVEL).answer == "no"
    assert judge_alike([*pairs, *[pair("b1", "b2", 0.0, 0.02)] * 2], 100, LEVEL).answer == "undecided"


def test_nothing_is_said_of_one_model_or_without_intervals():
    assert judge_alike([], 100, LEVEL) is None
    assert judge_alike([pair("soft", "b1", 0.0, np.nan)], 100, LEVEL) is None


def model(name, n_features, sensitivity):
    table = pd.DataFrame({"n_features": n_features, "sensitivity": sensitivity})
    return SimpleNamespace(name=name, choice=SimpleNamespace(table=table))


# Soft has 2, 5 or 9 features at 0.5, 0.7 and 0.8; what the others reach at best, 0.7, takes 5.
SOFT = model("soft", [9.0, 5.0, 2.0], [0.8, 0.7, 0.5])
OTHERS = [model("b1", [8.0, 7.0], [0.7, 0.6]), model("b2", [30.0], [0.75])]
SOFT_FOLDS = [[9, 5, 2], [10, 6, 2], [8, 4, 2]]
COMPACT = {
    "yes": ([[8, 7], [9, 7], [7, 7]], [[30], [31], [29]]),
    "no": ([[4, 7], [5, 7], [3, 7]], [[30], [31], [29]]),
    "undecided": ([[4, 7], [9, 7], [7, 7]], [[30], [31], [29]]),
}


@pytest.mark.parametrize("answer", COMPACT)
def test_the_most_compact_at_equal_sensitivity_has_fewest_features_in_every_fold(answer, tell):
    b1, b2 = COMPACT[answer]
    claim = judge_compact([SOFT, *OTHERS], {"soft": SOFT_FOLDS, "b1": b1, "b2": b2})
    assert claim.sensitivity == 0.7
    assert claim.n_features == {
        "soft": [5, 6, 4],
        "b1": [fold[0] for fold in b1],
        "b2": [fold[0] for fold in b2],
    }
    line = tell(compact=claim)
    assert claim.answer == line.answer == answer
    fewest, most = min(fold[0] for fold in b1), max(fold[0] for fold in b1)
    assert f"at least 70.0 %: Soft 4 to 6, B1 {fewest} to {most}, B2 29 to 31." in line.evidence
    assert "3 folds" in line.evidence
    assert "evidence is weak" in line.evidence


def test_one_fold_decides_nothing_and_a_study_without_soft_is_not_asked():
    one = {"soft": SOFT_FOLDS[:1], "b1": [[8, 7]], "b2": [[30]]}
    assert judge_compact([SOFT, *OTHERS], one).answer == "undecided"
    assert judge_compact(OTHERS, one) is None
    assert judge_compact([SOFT], one) is None


PATHS = {"yes": [40, 30, 20, 10, 1], "no": [5, 40, 3, 41, 2], "undecided": [40, 30, 10, 20, 15]}


@pytest.mark.parametrize("answer", PATHS)
def test_a_penalty_controls_if_features_fall_along_every_path(answer, tell):
    falling = pd.DataFrame({"lam": [0.1, 0.2, 0.3, 0.4, 0.5], "n_features": [50, 40, 30, 20, 10]})
    other = falling.assign(n_features=PATHS[answer], normalization="class")
    path = pd.concat([falling.assign(normalization="bags"), other])
    claim = judge_penalty(pd.concat([path.assign(fp_target=fp) for fp in (0.5, 1.0)], ignore_index=True))
    # Spearman's correlation is that of the ranks.
    by_hand = np.corrcoef(rankdata(other["lam"]), rankdata(other["n_features"]))[0, 1]
    assert claim.correlation == pytest.approx(by_hand)
    line = tell(penalty=claim)
    assert claim.answer == line.answer == answer
    assert line.evidence.startswith(
        f"From 50 to {min(10, *PATHS[answer])} features as the penalty rises in 5 steps"
    )


def test_a_penalty_that_changes_nothing_controls_nothing():
    path = pd.DataFrame({"lam": [0.1, 0.2], "n_features": 3, "normalization": None, "fp_target": 0.5})
    assert judge_penalty(path).answer == "no"


def locked(name, estimate, lower, upper):
    row = {"source": "out_of_fold", "fp_target": 0.5, "measure": "fp_per_image"}
    table = pd.DataFrame([row | {"estimate": estimate, "lower": lower, "upper": upper}])
    others = [
        table.assign(source="in_sample", lower=9.0),
        table.assign(fp_target=1.0, lower=9.0),
        table.assign(measure="gt_sensitivity", lower=9.0),
    ]
    return SimpleNamespace(name=name, counted=[SimpleNamespace(locked=pd.concat([table, *others]))])


SHIFTS = {
    "yes": [("soft", 0.8, 0.6, 1.0), ("b1", 0.7, 0.55, 0.9)],
    "no": [("soft", 0.3, 0.2, 0.4), ("b1", 0.4, 0.3, 0.5)],
    "undecided": [("soft", 0.8, 0.6, 1.0), ("b1", 0.55, 0.45, 0.6)],
}


@pytest.mark.parametrize("answer", SHIFTS)
def test_false_positives_rise_if_the_interval_of_every_model_lies_above_the_lock(answer, tell):
    claim = judge_shift([locked(*one) for one in SHIFTS[answer]], 0.5)
    line = tell(false_positives=claim)
    assert claim.answer == line.answer == answer
    (_, *soft), (_, *b1) = SHIFTS[answer]
    said = (
        "locked for 0.5, with 95 % intervals: Soft {:.2f} ({:.2f} to {:.2f}); B1 {:.2f} ({:.2f} to {:.2f})."
    )
    assert line.evidence.endswith(said.format(*soft, *b1))


def test_without_an_interval_nothing_is_said_of_false_positives():
    assert judge_shift([locked("soft", 0.0, np.nan, np.nan)], 0.5) is None


def mixture(weights):
    readers = [f"R{number}" for number in range(len(weights))]
    table = pd.DataFrame({"reader_id": readers, "importance": weights, "low": np.nan, "high": np.nan})
    return SimpleNamespace(reader_importance=table)


# 24 readers by rising sensitivity, and one whom the mixture left out.
READERS = pd.DataFrame({"reader_id": [f"R{n}" for n in range(25)], "sensitivity": np.linspace(0.3, 0.9, 25)})
RISING = np.arange(24.0)
WEIGHTS = {"yes": RISING, "no": np.r_[RISING[12:], RISING[:12]], "undecided": np.roll(RISING, 4)}


@pytest.mark.parametrize("answer", WEIGHTS)
def test_weights_follow_sensitivities_if_the_interval_of_their_rank_correlation_says_so(answer, tell):
    weights = WEIGHTS[answer]
    claim = judge_weights(
        [SimpleNamespace(reader_importance=pd.DataFrame()), mixture(weights)], READERS, LEVEL
    )
    by_hand = np.corrcoef(rankdata(weights), np.arange(24))[0, 1]
    assert claim.correlation == pytest.approx(by_hand)
    assert claim.n_readers == 24
    line = tell(weights=claim)
    assert claim.answer == line.answer == answer
    assert (
        f"{by_hand:.2f} over 24 readers (95 % interval {claim.lower:.2f} to {claim.upper:.2f})"
        in line.evidence
    )


def test_three_readers_are_too_few_for_an_interval(tell):
    claim = judge_weights([mixture([1.0, 2.0, 3.0])], READERS, LEVEL)
    assert claim.answer == "undecided"
    assert "over 3 readers (too few for an interval)" in tell(weights=claim).evidence


def test_no_mixture_no_claim_about_weights():
    assert judge_weights([SimpleNamespace(reader_importance=pd.DataFrame())], READERS, LEVEL) is None
    assert judge_weights([mixture([1.0, 1.0, 1.0])], READERS, LEVEL) is None


def test_the_interval_of_a_rank_correlation_covers_it():
    """Pairs of normal numbers with correlation r have the rank correlation 6 / pi asin(r / 2) (Pearson 1907)."""
    generator, r = np.random.default_rng(0), 0.6
    truth, covered, draws = 6 / np.pi * np.arcsin(r / 2), 0, 2000
    for _ in range(draws):
        x, noise = generator.normal(size=(2, 12))
        ranks = rankdata(x), rankdata(r * x + np.sqrt(1 - r**2) * noise)
        lower, upper = rank_correlation_interval(float(np.corrcoef(*ranks)[0, 1]), 12, LEVEL)
        covered += lower <= truth <= upper
    assert 0.93 <= covered / draws <= 0.98


@pytest.mark.parametrize("n", [4, 5, 8, 30])
def test_perfect_agreement_has_an_interval_of_some_width(n):
    lower, upper = rank_correlation_interval(1.0, n, LEVEL)
    assert lower < 1 - 12 / (n * (n**2 - 1)) < upper < 1
    assert rank_correlation_interval(-1.0, n, LEVEL) == pytest.approx((-upper, -lower))


def test_a_run_asks_every_claim(results: StudyResults, chain: Chain):
    claims = results.claims
    assert [line.question for line in list_claims(results)] == [
        "Do the models perform equally well?",
        "Is Soft the most compact model?",
        "Does the penalty control the number of features?",
        "Do false positives rise in unseen patients?",
        "Do the readers' weights follow their sensitivities?",
    ]
    assert claims.compact.n_features.keys() == {"soft", "b1", "b2", "boosted"}
    n_folds = {len(folds) for folds in claims.compact.n_features.values()}
    assert n_folds == {chain.settings.models.folds}
