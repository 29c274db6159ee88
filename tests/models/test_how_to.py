"""The how-to page runs, block after block, and finds what its data hide."""

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
