"""`explain` compares a candidate with the average one of training, by true averages, in every linear model."""

import json

import numpy as np
import pandas as pd
import pytest

from field_study import LIGHT, write_field_study
from overread.cli import main
from overread.study import open_run
from study_chain import PAGE, leave_out

SETTINGS = (
    LIGHT.replace("n_lambdas = 8", "n_lambdas = 4").replace("fp_targets = [0.5, 2.0]", "fp_targets = [1.0]")
    + "[b1]\nprune_bounds = [100.0]\n[b2]\nprune_bounds = [100.0]\nmin_positives = 2\nn_bootstrap = 0\n"
)


@pytest.fixture(autouse=True)
def without_pages(monkeypatch):
    """Let runs make the detector and nothing else of their last stages."""
    leave_out(monkeypatch, set(PAGE) - {"detector"})


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study of pictures, whose images are looked at once for all models."""
    return write_field_study(tmp_path_factory.mktemp("explain") / "study", settings=SETTINGS, n_images=14)


@pytest.mark.parametrize("name", ["soft", "b1", "b2"])
def test_contributions_are_those_of_a_recomputation(study, name, capsys):
    text = SETTINGS.replace('wanted = ["soft"]', f'wanted = ["{name}"]')
    (study / "study.toml").write_text(text)
    assert main(["run", str(study)]) == 0
    capsys.readouterr()

    # By hand, from the run's files: the rows of features.npy whose images models are fitted to.
    root = study / "runs" / "main"
    stored = json.loads((root / f"models/{name}.json").read_text())["payload"]["fitted"]
    names = json.loads((root / "feature_names.json").read_text())
    features = pd.DataFrame(np.load(root / "features.npy").astype(np.float64), columns=names)
    candidates = pd.read_parquet(root / "tables/candidates.parquet").astype({"image_id": str})
    split = pd.read_parquet(root / "tables/split.parquet").set_index("image_id")["split"]
    trained = candidates["image_id"].map(split).ne("test").to_numpy()
    assert 0 < trained.sum() < len(trained)
    weights = pd.Series(stored["coef_"][0], index=stored["feature_names_in_"])
    weights = weights[weights != 0]
    means = features.loc[trained, weights.index].mean()
    average = float(weights @ means + stored["intercept_"][0])

    image = candidates["image_id"].iloc[-1]
    of_image = candidates.index[candidates["image_id"] == image]
    for row in (of_image[0], of_image[-1]):
        assert main(["explain", str(root), image, str(candidates.loc[row, "candidate_id"]), "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        *parts, last = told["contributions"]
        said = pd.DataFrame(parts).set_index("feature")
        assert set(said.index) == set(weights.index)
        values = features.loc[row, weights.index]
        expected = weights * (values - means)
        assert np.allclose(said["mean"], means[said.index], rtol=1e-5, atol=1e-6)
        assert np.allclose(said["value"], values[said.index], rtol=1e-5, atol=1e-5)
        assert np.allclose(said["contribution"], expected[said.index], rtol=1e-3, atol=1e-4)
        assert said["contribution"].abs().is_monotonic_decreasing
        assert last["feature"] == "mean candidate"
        assert last["contribution"] == pytest.approx(average, abs=1e-4)
        assert said["contribution"].sum() == pytest.approx(told["score"] - average, abs=1e-4)
    # Some average is far from 0, so that "0 on average" would be false.
    assert means.abs().max() > 0.1


def test_the_average_candidate_has_the_average_score(study, capsys):
    """Of a weighted sum the score of the mean candidate is the mean of the scores, which no mean enters."""
    (study / "study.toml").write_text(SETTINGS.replace('wanted = ["soft"]', 'wanted = ["b2"]'))
    assert main(["run", str(study)]) == 0
    run = open_run(study / "runs" / "main")
    scores = run.table("scores").merge(run.table("split")[["image_id", "split"]], on="image_id")
    expected = scores.loc[scores["split"] != "test", "b2"].mean()
    image = scores["image_id"].iloc[0]
    capsys.readouterr()
    assert main(["explain", str(run.root), image]) == 0
    lines = capsys.readouterr().out.splitlines()
    (line,) = (one for one in lines if one.endswith("score of an average candidate in training"))
    assert float(line.split()[0]) == pytest.approx(expected, abs=6e-4)
