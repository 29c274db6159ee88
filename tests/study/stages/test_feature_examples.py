"""Candidates that show what a feature looks at."""

from dataclasses import replace

from overread.report import N_TOLD
from overread.study.stages.gallery import find_examples
from study_chain import Chain


def test_a_low_and_a_high_example_of_each_feature_that_is_told(chain: Chain) -> None:
    models = chain.load("results.json").models
    test = chain.load("cohort").split("test")
    examples = find_examples(models, test)
    told = {one.name for model in models for one in model.features[:N_TOLD]}
    assert set(examples["feature"]) == told
    assert all(list(rows["end"]) == ["low", "high"] for _, rows in examples.groupby("feature"))
    for name, rows in examples.groupby("feature"):
        values = test.features.read([name])[name]
        low, high = rows["value"]
        assert (values < low).mean() <= 0.1
        assert (values > high).mean() <= 0.1
        assert low < high or values.nunique() < 10
    places = test.candidates.set_index(["image_id", "x", "y"]).index
    assert set(zip(examples["image_id"], examples["x"], examples["y"], strict=True)) <= set(places)


def test_models_without_features_have_no_examples(chain: Chain) -> None:
    models = chain.load("results.json").models
    bare = [replace(model, features=[]) for model in models]
    assert find_examples(bare, chain.load("cohort").split("test")).empty
