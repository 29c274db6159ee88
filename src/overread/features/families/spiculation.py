"""Spiculation (24 features): angles of the gradient, ridges along rays, gratings in angle, the margin's band.

Zones: core rho < 0.7, margin 0.7..1.3, surround 1.3..2.5, with rho in units of the outline's radius along each ray.
phi: angle between the gradient, at 1 mm smoothing, and the inward ray; each point weighs |g| times its area.
"""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from overread._kernel import kernel
from overread.features._arrays import F32, F64
from overread.features._family import EPSILON, Family, describe_features, ratio, stack_columns
from overread.features.context._context import Context
from overread.features.context._rays import N_ANGLES, RHO, SECOND_RHO, SECOND_STEP_MM, band_mean

ZONES = {"core": "in the middle", "margin": "at the border", "surround": "around it"}
ZONE_BORDERS = np.array([0.0, 0.7, 1.3, 2.5])
ANNULI = {"a1": (1.0, 1.25), "a2": (1.5, 1.75), "a3": (2.0, 2.5)}
ARCS = {"a1": "just outside the border", "a2": "a little further out", "a3": "far out"}
ORDERS = {"low": (3, 5), "middle": (6, 9), "high": (10, 16)}
GRATINGS = {
    "low": "broad bright and dark sectors around it",
    "middle": "bright and dark sectors around it, of middle width",
    "high": "narrow bright and dark sectors around it",
}
# Columns of the gradient's sums: bins of phi, then its parts along and across the ray.
BINS = 12
NORMAL, TANGENTIAL = BINS, BINS + 1
# Sums of the gradient below this are rounding.
WEIGHTLESS = 1e-9
# Energies below this count as none, as in family blob.
ENERGY_FLOOR = 1e-3

FEATURES = describe_features(
    "spiculation",
    "Huo et al. 1995, doi:10.1118/1.597626 (angles of the gradient); Sampat, Whitman, Markey and Bovik "
    "2006 (spiculation filters); Sahiner et al. 1998, doi:10.1118/1.598228 (rubber band)",
    [
        *[
            row
            for zone in ZONES
            for row in (
                (f"radial.{zone}", "1", f"share of the weight with |phi| < 30 deg, {zone}",
                 f"share of edges that point towards the centre, {ZONES[zone]}"),
                (f"tangential.{zone}", "1", f"share of the weight with 60 <= |phi| < 120 deg, {zone}",
                 f"share of edges that run radially, like spicules, {ZONES[zone]}"),
                (f"angle_spread.{zone}", "1", f"1 - |weighted mean of exp(i phi)|, phi in 12 bins, {zone}",
                 f"how varied the directions of edges are, {ZONES[zone]}"),
                (f"angle_entropy.{zone}", "1", f"entropy of the weighted histogram of phi in 12 bins / ln 12, {zone}",
                 f"how evenly edges point in all directions, {ZONES[zone]}"),
            )
        ],
        *[
            row
            for annulus, (start, end) in ANNULI.items()
            for row in (
                (f"ridge_energy.{annulus}", "1", f"mean over rays of max(e_k, 0) / s, {start} to {end} R",
                 f"strength of thin radial lines, {ARCS[annulus]}"),
                (f"ridge_peak.{annulus}", "1", f"largest e_k / (mean |e_k| + 0.001), {start} to {end} R",
                 f"how much one radial line stands out, {ARCS[annulus]}"),
            )
        ],
        *[
            (f"grating_{name}", "1",
             f"sqrt(sum over n = {first}..{last} of |A_n|^2) / s, A_n the n-th Fourier coefficient "
             "in angle of the mean grey level from 1 to 2 R, by area",
             GRATINGS[name])
            for name, (first, last) in ORDERS.items()
        ],
        ("rubber_band_depth", "1", "1 - mean over rays of the outline's radius / its largest radius within 5 rays",
         "depth of the notches of the outline"),
        ("rubber_band_turns", "1",
         "share of rays at which the outline's radius changes its slope by more than R / 10 a ray",
         "how often the outline turns sharply"),
        ("rubber_band_ratio", "1", "mean |dg/dt| / (mean |dg/dr| + mean |dg/dt|) in the margin, by area",
         "change of brightness along the border relative to the change across it"),
    ],
    symbols={
        "phi": "phi: angle between the gradient g, at 1 mm smoothing, and the inward ray",
        "weight": "weight: |g| times area",
        "weighted": "weight: |g| times area",
        "core": "core: within 0.7 outline radii",
        "margin": "margin: 0.7 to 1.3 outline radii",
        "surround": "surround: 1.3 to 2.5 outline radii",
        "e_k": "e_k = E_k - median of E over rays, E_k the mean of -d2g/dt2 (1.4 mm)^2 along ray k between these radii",
        "s": "s: noise of the ring, as in family profile",
    },
)  # fmt: skip


@kernel
def _angle_sums(along: F32, across: F32, ray_radius: F64, rho: F64, borders: F64) -> F64:
    """Sum gradient times area over zones: |g| in 12 bins of phi, then |along| and |across|.

    Bin b < 6 holds phi from 30 b to 30 (b + 1) degrees, bin 11 - b the same below 0. A zone reaches from one border
    to the next, in units of the outline's radius along the ray.
    """
    out = np.zeros((along.shape[0], borders.size - 1, TANGENTIAL + 1))
    tops = np.cos(np.arange(1, 6) * np.pi / 6.0)
    for c in range(along.shape[0]):
        for k in range(along.shape[1]):
            zone = 0
            for j in range(along.shape[2]):
                while zone < borders.size - 1 and rho[j] >= borders[zone + 1] * ray_radius[c, k]:
                    zone += 1
                if zone == borders.size - 1:
                    break
                inwards, sideways = -along[c, k, j], across[c, k, j]
                magnitude = np.sqrt(inwards * inwards + sideways * sideways)
                b = 0
                for top in tops:
                    b += int(inwards < top * magnitude)
                if sideways < 0.0:
                    b = 11 - b
                out[c, zone, b] += magnitude * rho[j]
                out[c, zone, NORMAL] += abs(inwards) * rho[j]
                out[c, zone, TANGENTIAL] += abs(sideways) * rho[j]
    return out


def _compute(context: Context) -> F32:
    """Spiculation of each candidate."""
    # By zone and angle: (candidate, zone, column).
    sums = _angle_sums(*context.fine_gradient, context.outlines.ray_radius, RHO, ZONE_BORDERS)
    values = _gradient_angles(sums) | _ridges(context) | _gratings(context)
    return stack_columns(FEATURES, values | _rubber_band(context, sums), context.n_candidates)


def _gradient_angles(sums: F64) -> dict[str, F64]:
    """How the gradient's angles to the inward ray are spread in each zone.

    Without any gradient the shares are 0, the spread and the entropy 1.
    """
    middles = np.exp(1j * np.pi / 6.0 * (np.arange(BINS) + 0.5))
    values: dict[str, F64] = {}
    for index, zone in enumerate(ZONES):
        bins = sums[:, index, :BINS]
        total = bins.sum(axis=1)
        values[f"radial.{zone}"] = share(bins[:, 0] + bins[:, 11], total)
        values[f"tangential.{zone}"] = share(bins[:, [2, 3, 8, 9]].sum(axis=1), total)
        values[f"angle_spread.{zone}"] = 1.0 - share(np.abs((bins * middles).sum(axis=1)), total)
        values[f"angle_entropy.{zone}"] = entropy(bins, total)
    return values


def share(part: F64, total: F64) -> F64:
    """Share of a weight; 0 if there is almost none."""
    return np.where(total > WEIGHTLESS, part / np.maximum(total, WEIGHTLESS), 0.0)


def entropy(histogram: F64, total: F64) -> F64:
    """Entropy of each row over that of equal bins; 1 for an empty row."""
    p = histogram / np.maximum(total, WEIGHTLESS)[:, None]
    found = -(p * np.log(np.maximum(p, 1e-300))).sum(axis=1) / np.log(BINS)
    return np.where(total > WEIGHTLESS, found, 1.0)


def _ridges(context: Context) -> dict[str, F64]:
    """Bright lines along rays, ring by ring outwards."""
    ridge = -context.curvature[1] * np.float32(SECOND_STEP_MM**2)
    noise = context.trend.noise_scale
    values: dict[str, F64] = {}
    for annulus, (start, end) in ANNULI.items():
        annulus_rho = slice(np.searchsorted(SECOND_RHO, start), np.searchsorted(SECOND_RHO, end) + 1)
        energy = ridge[:, :, annulus_rho].mean(axis=2).astype(np.float64)
        energy -= np.median(energy, axis=1, keepdims=True)
        values[f"ridge_energy.{annulus}"] = np.maximum(energy, 0.0).mean(axis=1) / noise
        values[f"ridge_peak.{annulus}"] = energy.max(axis=1) / (np.abs(energy).mean(axis=1) + ENERGY_FLOOR)
    return values


def _gratings(context: Context) -> dict[str, F64]:
    """Strength of patterns that repeat n times around the candidate."""
    ring = band_mean(context.grey, 1.0, 2.0)
    power = np.abs(np.fft.rfft(ring, axis=1) / N_ANGLES) ** 2
    noise = context.trend.noise_scale
    return {
        f"grating_{name}": np.sqrt(power[:, first : last + 1].sum(axis=1)) / noise
        for name, (first, last) in ORDERS.items()
    }


def _rubber_band(context: Context, sums: F64) -> dict[str, F64]:
    """Look at the outline and its margin, unrolled."""
    radius = context.outlines.ray_radius
    widest = ndimage.maximum_filter1d(radius, 11, axis=1, mode="wrap")
    turn = np.roll(radius, -1, axis=1) - 2.0 * radius + np.roll(radius, 1, axis=1)
    margin = sums[:, list(ZONES).index("margin")]
    normal, tangential = margin[:, NORMAL], margin[:, TANGENTIAL]
    return {
        "rubber_band_depth": 1.0 - (radius / widest).mean(axis=1),
        "rubber_band_turns": (np.abs(turn) > 0.1 + EPSILON).mean(axis=1),
        "rubber_band_ratio": ratio(tangential, normal + tangential),
    }


FAMILY = Family(FEATURES, _compute)
