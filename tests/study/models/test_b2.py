"""B2: a model per reader, an early refusal, and no intervals in folds."""

from types import SimpleNamespace

import numpy as np
import pytest

from overread.errors import InvalidInputError
from overread.models import ReaderMixture
from overread.study import MODELS, Fold, parse_settings
from study_chain import Chain

B2 = MODELS["b2"]


def test_what_is_built() -> None:
    settings = parse_settings(
        {"seed": 4, "models": {"folds": 7}, "evaluation": {"level": 0.8}}
        | {"b2": {"scores": "out_of_fold", "min_positives": 3, "n_bootstrap": 21, "screen": 5}}
    )
    model = B2.build({"prune_bound": 5.0, "alpha_init": 0.5}, settings)
    assert isinstance(model, ReaderMixture)
    told = {
        "prune_bound": 5.0, "scores": "out_of_fold", "cv": 7, "min_positives": 3, "n_bootstrap": 21,
        "confidence": 0.8, "random_state": 4, "screen": 5,
    }  # fmt: skip
    assert {name: getattr(model, name) for name in told} == told


def count_marked(split: object) -> int:
    """Marks near candidates of the reader who has most, as `min_positives` counts them."""
    best = 0
    for reader, rows in split.readings.groupby("reader_id"):
        images = set(rows["image_id"])
        marks = split.marks[(split.marks["reader_id"] == reader) & split.marks["image_id"].isin(images)]
        near = 0
        for mark in marks.to_dict("records"):
            found = split.candidates[split.candidates["image_id"] == mark["image_id"]]
            a, b = max(mark["semi_major"], 5.0), max(mark["semi_minor"], 5.0)
            angle = np.radians(mark["angle_deg"])
            dx, dy = found["x"] - mark["x"], found["y"] - mark["y"]
            along, across = dx * np.cos(angle) + dy * np.sin(angle), dy * np.cos(angle) - dx * np.sin(angle)
            near += bool(((along / a) ** 2 + (across / b) ** 2 <= 1).any())
        best = max(best, near)
    return best


def test_the_limit_of_the_refusal_is_a_count_of_marks(chain: Chain) -> None:
    training = chain.load("cohort").split("training")
    most = count_marked(training)
    B2.check(training, [], SimpleNamespace(b2=SimpleNamespace(min_positives=most)))
    with pytest.raises(InvalidInputError, match=rf"the best has {most} "):
        B2.check(training, [], SimpleNamespace(b2=SimpleNamespace(min_positives=most + 1)))


def test_a_fold_that_is_too_small_is_refused_too(chain: Chain) -> None:
    training, folds = chain.load("cohort").split("training"), chain.load("folds")
    small = Fold(folds[0].rest, folds[0].held_out)
    most = count_marked(folds[0].held_out)
    with pytest.raises(InvalidInputError, match="of a training set"):
        B2.check(training, [small], SimpleNamespace(b2=SimpleNamespace(min_positives=most + 1)))
