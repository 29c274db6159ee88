"""The observer that is told what to look for, where its answer is known."""

import numpy as np
import pytest
from benchmarks.observer import POINTS, REMOVE_TREND, View, answer, look_for, move_nodule

from overread.simulate import Nodule
from overread.simulate._cases import Background, pixels_with_nodules


@pytest.fixture(scope="module")
def background():
    noise = np.random.default_rng(0).normal(120.0, 4.0, (160, 160))
    return Background(noise, 0.7, np.ones((160, 160), dtype=bool), 0.0, 255.0)


def test_quadratic_surfaces_are_taken_away():
    axis = np.linspace(-1, 1, POINTS)
    surface = (3.0 + axis[:, None] - 2.0 * axis * axis + axis[:, None] * axis).ravel()
    np.testing.assert_allclose(REMOVE_TREND @ surface, 0.0, atol=1e-10)


def test_a_nodule_that_is_there_is_seen_as_its_signal(background):
    nodule = move_nodule(Nodule(0, 0, 12.0, conspicuity=3.0), 56.0, 57.0, background, background.pixels)
    pixels = pixels_with_nodules(background, [nodule]) * (255.0 / 65535.0)
    there, gone = look_for(nodule, pixels, background), look_for(nodule, background.pixels, background)
    np.testing.assert_allclose(there.seen - gone.seen, there.signal, atol=0.01)
    assert there.signal.max() > 3.0


def test_the_answer_is_the_likelihood_ratio_of_gaussian_noise():
    """For white noise of unit variance the answer is s.g - s.s / 2, up to what a finite sample tells of the noise."""
    random = np.random.default_rng(4)
    signal = np.zeros(POINTS**2, np.float32)
    signal[300:304] = 1.0
    noise = random.normal(size=(4001, POINTS**2)).astype(np.float32)
    views = [View(seen, signal, 12.0) for seen in noise]
    views[0] = View(noise[0] + signal, signal, 12.0)
    group = np.r_[0, np.repeat([0, 1], 2000)]
    answers = answer(views, group, np.arange(4001) > 0)
    expected = np.array([view.seen @ signal for view in views]) - 2.0
    assert np.corrcoef(answers[:2001], expected[:2001])[0, 1] > 0.8
    assert answers[1:].mean() < -1.5
