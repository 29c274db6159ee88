"""The pages on features of your own and on crowd models run, block after block, and find what their data hide."""

import shutil

import numpy as np
import pytest

from page_code import run_page


@pytest.fixture(scope="module")
def namespace():
    names = run_page("how-to/your_own_features.md")
    yield names
    shutil.rmtree(names["folder"])


def test_the_page_finds_the_features_that_matter(namespace):
    weight = namespace["weight"]
    assert weight.abs().nlargest(2).index.tolist() == ["net_3", "net_17"]
    assert weight["net_3"] > 0 > weight["net_17"]
    assert namespace["report"].converged


def test_the_page_chooses_a_penalty_inside_its_grid(namespace):
    assert 0 < namespace["best"] < len(namespace["whole"].alphas_) - 1
    assert np.isfinite(namespace["divergence"]).all()


def test_the_page_writes_its_files(namespace):
    assert {file.name for file in namespace["folder"].iterdir()} == {"model.json", "model.onnx"}


def test_the_page_on_crowd_models_runs(tmp_path):
    names = run_page("explanation/crowd_models.md", {"folder": tmp_path})
    assert len(names["probability"]) == len(names["bags"])
    assert names["labelled"]["probability"].between(0, 1).all()
    assert names["soft"].fit_report_.converged
    assert names["crowd"].converged_
    assert names["raykar"].converged_
