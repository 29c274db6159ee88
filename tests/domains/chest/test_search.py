import numpy as np
import pytest

from overread.domains import find_anatomy
from overread.features import Quality
from radiograph_pictures import SHAPE, radiograph


def test_anatomy_of_a_real_radiograph(nih):
    image = nih(49)
    found = find_anatomy(image)
    assert not (found.mediastinum & found.lungs).any()
    assert (found.thorax >= found.mediastinum).all()
    assert (found.lungs & found.thorax).sum() > 0.99 * found.lungs.sum()
    assert set(found.quality) == {"left_lung", "right_lung", "ribs", "clavicles", "mediastinum"}
    centre = np.nonzero(found.mediastinum)[1].mean() / image.shape[1]
    assert 0.35 < centre < 0.65
    share = (found.ribs[found.lungs] > 0.5).mean()
    assert 0.05 < share < 0.6
    upper = np.nonzero(found.clavicles)[0].mean()
    assert upper < np.nonzero(found.lungs)[0].mean()


@pytest.mark.parametrize("shape", [(16, 16), (2, 2), (1, 1), SHAPE, (3, 300)])
def test_anatomy_is_finite_whatever_the_image(shape):
    for pixels in (np.zeros(shape), np.random.default_rng(0).normal(0, 1, shape)):
        found = find_anatomy(radiograph(pixels))
        for name in (
            "left_lung",
            "right_lung",
            "thorax",
            "mediastinum",
            "ribs",
            "rib_direction_deg",
            "clavicles",
        ):
            array = getattr(found, name)
            assert array.shape == shape
            assert np.isfinite(array).all()
        assert ((found.ribs >= 0) & (found.ribs <= 1)).all()
        assert ((found.rib_direction_deg >= 0) & (found.rib_direction_deg < 180)).all()
        assert all(isinstance(value, Quality) for value in found.quality.values())


def test_the_same_image_has_the_same_anatomy_to_the_last_bit(nih):
    first, held = find_anatomy(nih(49)), []
    for size in (1, 33_333, 77_777, 200_001):
        held.append(np.empty(size, dtype=np.uint8))
        again = find_anatomy(nih(49))
        assert again.rib_direction_deg.tobytes() == first.rib_direction_deg.tobytes()
        assert again.ribs.tobytes() == first.ribs.tobytes()
        assert again.lungs.tobytes() == first.lungs.tobytes()
