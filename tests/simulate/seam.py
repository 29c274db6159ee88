"""Can a classifier tell inserted nodules by their seam? High-frequency features around the outline."""

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.stats import kurtosis
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, cross_val_predict

from overread.simulate import Nodule
from overread.simulate._nodules import InsertWindow, contrast_field, relative_radius, window_around


def seam_features(pixels, nodule: Nodule, mm_per_px: float) -> list[float]:
    """Fine structure inside, on and outside the outline, as ratios to the outside, and a thin ring on the outline.

    A nodule may have a profile, so the mean at each distance from the outline is taken out first, with and without
    a nodule alike. What is left is texture, noise, and whatever an insertion did to them. A ring is a profile too;
    `ring_features` looks for it.
    """
    window = window_around(nodule.x_mm, nodule.y_mm, 2 * nodule.radius_mm + 4, pixels.shape, mm_per_px)
    patch = np.asarray(pixels[window.rows, window.columns], dtype=np.float64)
    rho = relative_radius(nodule, *window.mm(mm_per_px))[0]
    zones = [rho < 0.85, np.abs(rho - 1) < 0.15, (rho > 1.2) & (rho < 1.8)]
    residual = without_profile(patch - gaussian_filter(patch, 1.0), rho, nodule.radius_mm / mm_per_px)
    along = residual * np.roll(residual, 1, axis=1)
    log_spread = [np.log(residual[zone].std() + 1e-9) for zone in zones]
    similar = [along[zone].mean() / (residual[zone].var() + 1e-9) for zone in zones]
    tails = [kurtosis(residual[zone]) for zone in zones]
    return [
        *(value - log_spread[2] for value in log_spread[:2]),
        *(value - similar[2] for value in similar[:2]),
        *(value - tails[2] for value in tails[:2]),
        *ring_features(patch, rho, nodule, window, mm_per_px),
    ]


def ring_features(patch, rho, nodule: Nodule, window: InsertWindow, mm_per_px: float) -> list[float]:
    """Offset and spread of a ring one pixel wide on the outline, beside what lies 1.5 to 4 pixels from it.

    The nodule's field and a quadratic trend are fitted and taken out, with and without a nodule alike.
    """
    x, y = (
        axis - centre for axis, centre in zip(window.mm(mm_per_px), (nodule.x_mm, nodule.y_mm), strict=True)
    )
    x, y = np.broadcast_arrays(x / nodule.radius_mm, y / nodule.radius_mm)
    terms = [np.ones_like(x), x, y, x * x, x * y, y * y, contrast_field(nodule, window, mm_per_px)]
    near = rho < 1.8
    design = np.column_stack([term[near] for term in terms])
    rest = np.zeros_like(patch)
    rest[near] = patch[near] - design @ np.linalg.lstsq(design, patch[near], rcond=None)[0]
    from_outline = np.abs(rho - 1) * nodule.radius_mm / mm_per_px
    ring, beside = from_outline < 0.5, (from_outline > 1.5) & (from_outline < 4) & near
    fine = rest - gaussian_filter(rest, 1.0)
    spread = fine[beside].std() + 1e-9
    offset = (rest[ring].mean() - rest[beside].mean()) / spread
    return [offset, np.log(fine[ring].std() / spread + 1e-9)]


def without_profile(image, rho, radius_px: float):
    """Image minus its mean over pixels at the same distance from the outline, in bins of a pixel."""
    bins = np.clip(np.rint(rho * radius_px), 0, 4 * radius_px + 10).astype(int)
    total, n = np.bincount(bins.ravel(), image.ravel()), np.bincount(bins.ravel())
    return image - (total / np.maximum(n, 1))[bins]


def seam_auc(features, inserted, groups, *, seed: int = 0) -> tuple[float, float, float]:
    """AUC out of fold, folds by background, and its 95 % bootstrap interval over backgrounds."""
    features, inserted, groups = np.asarray(features), np.asarray(inserted), np.asarray(groups)
    model = RandomForestClassifier(150, min_samples_leaf=5, random_state=seed)
    score = cross_val_predict(
        model, features, inserted, groups=groups, cv=GroupKFold(5), method="predict_proba"
    )[:, 1]
    random = np.random.default_rng(seed)
    names = np.unique(groups)
    rows = {name: np.flatnonzero(groups == name) for name in names}
    draws = []
    for _ in range(300):
        chosen = np.concatenate([rows[name] for name in random.choice(names, len(names))])
        draws.append(roc_auc_score(inserted[chosen], score[chosen]))
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(roc_auc_score(inserted, score)), float(low), float(high)
