"""Small radiographs with known objects in them, on a 0.7 mm grid, and the anatomy they are set in."""

from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from scipy import ndimage

from overread.features import Anatomy, level_features
from overread.features.families import FAMILIES
from overread.images import Radiograph, SpacingSource

MM = 0.7
SIDE = 320
X, Y = 76.3, 98.9
COLUMNS, ROWS = np.meshgrid(np.arange(SIDE), np.arange(SIDE))
X_MM, Y_MM = (COLUMNS + 0.5) * MM, (ROWS + 0.5) * MM


def radiograph(pixels, *, mm=MM, valid=None):
    pixels = np.ascontiguousarray(pixels, dtype=np.float32)
    valid = np.ones(pixels.shape, dtype=bool) if valid is None else valid
    return Radiograph(pixels, mm, valid, SpacingSource.GIVEN, (mm, mm), pixels.shape)


def candidates(*rows):
    return pd.DataFrame(rows, columns=["x_mm", "y_mm", "radius_mm"], dtype=float)


def polar(x, y):
    return np.hypot(X_MM - x, Y_MM - y), np.arctan2(Y_MM - y, X_MM - x)


def soft(distance, blur):
    """1 inside, 0 outside, over about two blurs."""
    return 1.0 / (1.0 + np.exp(np.clip(distance / blur, -50, 50) * 2.0))


def disc(radius, contrast=0.2, *, x=X, y=Y, blur=0.7, lobes=0, depth=0.0, ratio=1.0, angle=0.0):
    """A disc whose radius may vary as 1 + depth cos(lobes t), squeezed across an angle."""
    turn = np.radians(angle)
    along = (X_MM - x) * np.cos(turn) + (Y_MM - y) * np.sin(turn)
    across = ((Y_MM - y) * np.cos(turn) - (X_MM - x) * np.sin(turn)) / ratio
    r, t = np.hypot(along, across), np.arctan2(across, along)
    return contrast * soft(r - radius * (1.0 + depth * np.cos(lobes * t)), blur)


def line(angle, *, width=4.0, contrast=0.2, x=X, y=Y, start=-1e3, end=1e3):
    """A bright line through (x, y), from start to end mm along it."""
    turn = np.radians(angle)
    across = -(X_MM - x) * np.sin(turn) + (Y_MM - y) * np.cos(turn)
    along = (X_MM - x) * np.cos(turn) + (Y_MM - y) * np.sin(turn)
    ends = soft(start - along, 1.0) * soft(along - end, 1.0)
    return contrast * np.exp(-0.5 * (across / (width / 2.0)) ** 2) * ends


def star(order, *, contrast=0.1, inner=0.0, outer=1e3, x=X, y=Y):
    """Rays that repeat ``order`` times around (x, y) between two radii."""
    r, t = polar(x, y)
    return contrast * np.cos(order * t) * soft(inner - r, 0.7) * soft(r - outer, 0.7)


def noise(amount, *, seed=0, sigma_mm=1.5):
    rough = ndimage.gaussian_filter(np.random.default_rng(seed).standard_normal((SIDE, SIDE)), sigma_mm / MM)
    return amount * rough / rough.std()


def anatomy(shape=(SIDE, SIDE), **parts):
    """Two elliptic lungs with a mediastinum between; ribs and clavicles only where given."""
    rows, columns = np.indices(shape)
    x, y = (columns + 0.5) / shape[1], (rows + 0.5) / shape[0]
    no = np.zeros(shape, dtype=bool)
    made = Anatomy(
        left_lung=((x - 0.31) / 0.17) ** 2 + ((y - 0.47) / 0.37) ** 2 < 1.0,
        right_lung=((x - 0.69) / 0.17) ** 2 + ((y - 0.47) / 0.37) ** 2 < 1.0,
        thorax=((x - 0.5) / 0.44) ** 2 + ((y - 0.48) / 0.44) ** 2 < 1.0,
        mediastinum=(np.abs(x - 0.5) < 0.02) & (y < 0.85),
        ribs=np.zeros(shape, dtype=np.float32),
        rib_direction_deg=np.zeros(shape, dtype=np.float32),
        clavicles=no,
        quality={},
    )
    return replace(made, **parts)


def no_anatomy(shape=(SIDE, SIDE)):
    """An anatomy in which nothing was found."""
    no, zero = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=np.float32)
    return Anatomy(no, no, no, no, zero, zero, no, {})


def region(seed, shape=(23, 31), sigma=1.0):
    """Smooth noise and a mask with holes, for texture on any array."""
    rng = np.random.default_rng(seed)
    return ndimage.gaussian_filter(rng.normal(size=shape), sigma), rng.random(shape) > 0.2


@dataclass(frozen=True, eq=False)
class Scene:
    """What to draw, the anatomy it lies in, and where the candidate is."""

    drawn: tuple[np.ndarray, ...] = ()
    x: float = X
    y: float = Y
    radius: float = 9.0
    quiet: float = 0.01
    parts: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def radiograph(self):
        return radiograph(0.4 + noise(self.quiet) + sum(self.drawn, np.zeros((SIDE, SIDE))))

    @property
    def anatomy(self):
        return anatomy(**self.parts)

    @property
    def candidates(self):
        return candidates((self.x, self.y, self.radius))


TEXTURE_FAMILIES = [family for family in FAMILIES if family.features[0].kind == "texture"]
NAMES = [feature.name for family in TEXTURE_FAMILIES for feature in family.features]
CENTRE = (99.0, 109.0)


def compute(context):
    """Texture features of the candidates of a batch."""
    return np.hstack([family.compute(context) for family in TEXTURE_FAMILIES])


def patch_of(texture, side=63):
    half = side // 2
    return texture[99 - half : 100 + half, 109 - half : 110 + half]


def one_matrix(family):
    """Return the function that gives the level features of one matrix, without its name in front."""

    def features(levels, **options):
        found = level_features(levels, **options)
        return {name.split(".")[1]: value for name, value in found.items() if name.startswith(f"{family}.")}

    return features


glrlm_features, glszm_features, ngldm_features, ngtdm_features = map(
    one_matrix, ("glrlm", "glszm", "ngldm", "ngtdm")
)
