"""All features by name: what each is, its unit, its formula, where it was published.

What a feature looks at, in words for who reads radiographs and no formulas.

A name is a base and its parts (`Feature.name`): the base is looked up, the parts say where and how coarse. Exact
formulas are in the catalogue.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping

from overread.errors import InvalidInputError
from overread.features._family import Family, Feature, Kind
from overread.features.families import FAMILIES


class Catalogue(Mapping[str, Feature]):
    """Features by name, in the order of the columns that `extract` gives.

    ``CATALOGUE["shape.area"]`` is one feature, ``list(CATALOGUE)`` all names, ``CATALOGUE.family("shape")`` and
    ``CATALOGUE.kind("specific")`` some of them, ``CATALOGUE.search("noise")`` those whose text has a word.

    Parameters
    ----------
    families
        In the order of the columns; names must differ.
    """

    def __init__(self, families: Iterable[Family]) -> None:
        self._families = tuple(families)
        self._features: dict[str, Feature] = {}
        for family in self._families:
            for feature in family.features:
                if feature.name in self._features:
                    raise InvalidInputError(f"two features are named {feature.name!r}")
                self._features[feature.name] = feature

    def __getitem__(self, name: str) -> Feature:
        """Feature of that name."""
        return self._features[name]

    def __iter__(self) -> Iterator[str]:
        """Names, in the order of the columns."""
        return iter(self._features)

    def __len__(self) -> int:
        """Count the features."""
        return len(self._features)

    @property
    def families(self) -> tuple[str, ...]:
        """Names of the families, in order."""
        return tuple(dict.fromkeys(feature.family for feature in self.values()))

    def family(self, name: str) -> tuple[Feature, ...]:
        """Features of one family."""
        found = tuple(feature for feature in self.values() if feature.family == name)
        if not found:
            raise InvalidInputError(f"no family {name!r}; there are {', '.join(self.families)}")
        return found

    def kind(self, kind: Kind) -> tuple[Feature, ...]:
        """Give the specific features, those of texture and intensity, or the learned ones."""
        return tuple(feature for feature in self.values() if feature.kind == kind)

    def search(self, text: str) -> tuple[Feature, ...]:
        """Features whose name, formula or reference has all the words, whatever their case."""
        words = text.lower().split()
        return tuple(
            feature
            for feature in self.values()
            if all(word in f"{feature.name} {feature.formula} {feature.reference}".lower() for word in words)
        )

    def families_with(self, names: Iterable[str]) -> list[Family]:
        """Give the families that compute at least one of the features, in the order of the columns."""
        wanted = set(names)
        return [
            family
            for family in self._families
            if not wanted.isdisjoint(feature.name for feature in family.features)
        ]

    def check_names(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the names, after a look that each is a feature and none comes twice."""
        wanted = tuple(names)
        for name in wanted:
            if name not in self._features:
                near = difflib.get_close_matches(name, self._features, n=3)
                hint = f"; near: {', '.join(near)}" if near else ""
                raise InvalidInputError(f"no feature {name!r}{hint} (overread features lists all)")
        if len(set(wanted)) != len(wanted):
            twice = next(name for name in wanted if wanted.count(name) > 1)
            raise InvalidInputError(f"feature {twice!r} is asked for twice")
        return wanted


CATALOGUE = Catalogue(FAMILIES)
"""Every feature, in the order of the columns of `extract`."""


SPECIFIC: Mapping[str, str] = {
    "shape.area": "area of the outline",
    "shape.equivalent_diameter": "diameter of the outline",
    "shape.perimeter": "length of the outline's border",
    "shape.major_axis": "length of the outline",
    "shape.minor_axis": "breadth of the outline",
    "shape.eccentricity": "how far the outline is from a circle",
    "shape.elongation": "how elongated the outline is",
    "shape.compactness": "how round and smooth the outline is",
    "shape.solidity": "how free of dents the outline is",
    "shape.convexity": "how free of dents the outline's border is",
    "shape.largest_width": "largest width of the outline",
    "shape.smallest_width": "smallest width of the outline",
    "shape.hu1": "how spread out the outline's area is",
    "shape.hu2_root": "how much longer than broad the outline's area is",
    "shape.hu3_root": "how three-sided the outline is",
    "shape.hu4_root": "how lopsided the outline is",
    "shape.radius_variation": "how unequal the outline's radius is",
    "shape.roughness": "how rough the outline's border is",
    "shape.radius_ratio": "size of the outline against that of the candidate",
    "shape.candidate_radius": "size of the candidate",
    "profile.inside_mean": "brightness inside the outline",
    "profile.surround_noise": "how busy the surroundings are",
    "profile.contrast": "how much brighter the inside is than the surroundings",
    "profile.contrast_off_trend": "how much brighter the inside is than the background would be there",
    "profile.contrast_to_noise": "how clearly the inside stands out from busy surroundings",
    "profile.peak_to_noise": "how clearly the brightest part stands out from busy surroundings",
    "profile.sector_min": "how clearly it stands out in the direction in which it does so least",
    "profile.sector_median": "how clearly it stands out in most directions",
    "profile.opposite_min": "how clearly it stands out on both sides at once, unlike a line, a rib or an edge",
    "profile.drop_1": "how much darker it gets just off the centre",
    "profile.drop_2": "how much darker it gets half-way to the border",
    "profile.drop_3": "how much darker it gets at the border",
    "profile.drop_4": "how much darker it gets just outside the border",
    "profile.drop_5": "how much darker it gets far outside the border",
    "profile.edge_sharpness": "how sharp the border is",
    "profile.edge_radius": "how far out the border lies",
    "profile.edge_agreement": "in how many directions it gets darker across the border",
    "profile.radial_fraction": "how well brightness depends on the distance from the centre alone",
    "profile.angular_spread": "how unequal the brightness is around the centre",
    "profile.point_asymmetry": "how unlike opposite sides are",
    "convergence.coin": "how much brightness rises towards the centre from all around",
    "convergence.weighted_coin": "how much strong edges face the centre",
    "convergence.iris_mean": "how much brightness rises towards the centre, each direction at its best reach",
    "convergence.iris_spread": "how unequally brightness rises towards the centre from different directions",
    "convergence.iris_opposite_min": "how much brightness rises towards the centre from opposite sides at once",
    "convergence.ring": "how much brightness rises inwards across the best ring around the centre",
    "convergence.band_mean": "how much brightness rises inwards across the border, each direction at its best radius",
    "convergence.band_opposite_min": "how much brightness rises inwards across the border on opposite sides at once",
    "convergence.band_radius": "radius of the border that brightness rises across",
    "convergence.band_radius_spread": "how unequal the radius of that border is",
    "blob.log": "strength of a bright spot",
    "blob.dog": "how much brighter a spot is than a wider neighbourhood",
    "blob.curvature": "how much it bulges in every direction, unlike a line",
    "blob.roundness": "how round a bright spot is, against a line",
    "blob.conspicuity": "how a bright spot compares with other structures around it",
    "template.afum_mean": "share of the surroundings that is darker than all of the inside, over several sizes",
    "template.afum_max": "largest share of the surroundings that is darker than all of the inside",
    "template.afum_at_80": "share of the surroundings that is darker than all of the inside",
    "template.parabola": "likeness to a smooth round bump",
    "template.disc": "likeness to an even bright disc",
    "template.best_size": "likeness to a smooth round bump of the best size",
    "spiculation.radial": "share of edges that face the centre",
    "spiculation.tangential": "share of edges that run out from the centre, like spicules",
    "spiculation.angle_spread": "how mixed the directions of edges are",
    "spiculation.angle_entropy": "how evenly edges point in all directions",
    "spiculation.ridge_energy": "strength of thin lines that run out from the centre",
    "spiculation.ridge_peak": "how much one line that runs out from the centre stands out",
    "spiculation.grating_low": "broad bright and dark sectors around it",
    "spiculation.grating_middle": "bright and dark sectors around it, of middle width",
    "spiculation.grating_high": "narrow bright and dark sectors around it",
    "spiculation.rubber_band_depth": "depth of the notches of the outline",
    "spiculation.rubber_band_turns": "how often the outline turns sharply",
    "spiculation.rubber_band_ratio": "how much brightness changes along the border rather than across it",
    "ribs.at_centre": "likeness of the centre to a rib",
    "ribs.label": "whether the centre lies on a rib",
    "ribs.overlap": "how much of it lies on a rib",
    "ribs.difference": "how much more rib there is inside than around it",
    "ribs.distance": "distance to the nearest rib",
    "ribs.alignment": "whether it is elongated along the rib",
    "ribs.angle": "angle between its length and the rib",
    "ribs.crossing": "whether ribs cross there",
    "ribs.clavicle_overlap": "how much of it lies on a clavicle",
    "ribs.clavicle_distance": "distance to the nearest clavicle",
    "lung.inside": "how much of it lies inside the lungs",
    "lung.depth": "distance to the border of the lung",
    "lung.relative_depth": "distance to the border of the lung, against the lung's size",
    "lung.height": "how low it lies in the lung",
    "lung.laterality": "how lateral it lies in the lung",
    "lung.side": "left or right lung",
    "lung.mediastinum_distance": "distance to the mediastinum",
    "lung.hilum_distance": "distance to the hilum",
    "lung.apex_distance": "distance below the apex of the lung",
    "lung.base_distance": "distance above the base of the lung",
    "lung.midline_distance": "distance to the midline",
    "lung.nipple_zone": "whether it lies where nipples project",
    "symmetry.grey": "how much brighter it is than the same place of the other lung",
    "symmetry.contrast": "how much more it stands out than the same place of the other lung",
    "symmetry.spread": "how much more varied it is than the same place of the other lung",
    "symmetry.correlation": "likeness to the same place of the other lung",
    "symmetry.best_grey": "how much brighter it is than the brightest place near its mirror place",
    "symmetry.best_contrast": "how much more it stands out than any place near its mirror place",
    "symmetry.best_correlation": "likeness to the most similar place near its mirror place",
    "symmetry.curvature": "how much more it bulges than the same place of the other lung",
    "symmetry.contrast_rank": "share of places near its mirror place that stand out less",
    "vessel.inside": "strength of lines inside it",
    "vessel.surround": "strength of lines around it",
    "vessel.radial_share": "share of the lines around it that lead to it",
    "vessel.through": "strength of a line that runs through it",
    "vessel.count": "number of lines that lead to it",
    "vessel.reach": "strength of the strongest line that leads to it",
    "power_law_exponent": "how coarse rather than fine the texture is",
    "power_law_level": "amount of texture of about 1 cm",
    "power_law_residual": "how much the texture prefers some sizes",
    "fractal_dimension_variogram": "how rough the texture is, by differences of neighbours",
    "fractal_dimension_boxes": "how rough the texture is, by counting boxes",
    "lacunarity": "how patchy the texture is",
}  # fmt: skip

STATISTICS: Mapping[str, str] = {
    "mean": "mean brightness",
    "variance": "variance of brightness",
    "skewness": "whether few bright or few dark points stand out",
    "kurtosis": "how far single points stand out",
    "median": "median brightness",
    "minimum": "darkest point",
    "p10": "brightness of the dark tenth",
    "p90": "brightness of the bright tenth",
    "maximum": "brightest point",
    "interquartile_range": "range of the middle half of brightness",
    "range": "range of brightness",
    "mean_absolute_deviation": "mean deviation of brightness",
    "robust_mean_absolute_deviation": "mean deviation of brightness without the extremes",
    "median_absolute_deviation": "deviation of brightness from the median",
    "coefficient_of_variation": "variation of brightness against its mean",
    "quartile_coefficient_of_dispersion": "spread of brightness against its middle",
    "energy": "sum of squared brightness",
    "root_mean_square": "strength of brightness",
}

PAIRS: Mapping[str, str] = {
    "angular_second_moment": "how uniform neighbouring brightness is",
    "contrast": "how much neighbours differ",
    "correlation": "how alike neighbours are",
    "joint_variance": "how varied neighbours are",
    "inverse_difference_moment": "how smooth it is from neighbour to neighbour",
    "sum_average": "brightness of neighbours together",
    "sum_variance": "variance of the brightness of neighbours together",
    "sum_entropy": "disorder of the brightness of neighbours together",
    "joint_entropy": "disorder of neighbours",
    "difference_variance": "how unequal the differences of neighbours are",
    "difference_entropy": "disorder of the differences of neighbours",
    "information_correlation_1": "how much a point tells of its neighbour, against their disorder",
    "information_correlation_2": "how much a point tells of its neighbour",
}

# Runs (glrlm), zones (glszm) and alike neighbours (ngldm) share their statistics; the thing is put in for "{}".
MATRICES = {
    "glrlm": "stretches of equal brightness",
    "glszm": "patches of equal brightness",
    "ngldm": "groups of alike neighbours",
}
MATRIX_WORDS: tuple[tuple[str, str], ...] = (
    ("(short_run|small_zone|low_dependence)_low_level_emphasis", "share of small, dark {}"),
    ("(short_run|small_zone|low_dependence)_high_level_emphasis", "share of small, bright {}"),
    ("(long_run|large_zone|high_dependence)_low_level_emphasis", "share of large, dark {}"),
    ("(long_run|large_zone|high_dependence)_high_level_emphasis", "share of large, bright {}"),
    ("(short_run|small_zone|low_dependence)_emphasis", "share of small {}"),
    ("(long_run|large_zone|high_dependence)_emphasis", "share of large {}"),
    ("low_level_(run|zone|count)_emphasis", "share of dark {}"),
    ("high_level_(run|zone|count)_emphasis", "share of bright {}"),
    ("normalized_level_nonuniformity", "how unequal in brightness {} are, whatever their number"),
    ("level_nonuniformity", "how unequal in brightness {} are"),
    (
        "normalized_(run_length|zone_size|dependence)_nonuniformity",
        "how unequal in size {} are, whatever their number",
    ),
    ("(run_length|zone_size|dependence)_nonuniformity", "how unequal in size {} are"),
    ("(run|zone|dependence)_percentage", "number of {}"),
    ("level_variance", "variance of the brightness of {}"),
    ("(run_length|zone_size|dependence)_variance", "variance of the size of {}"),
    ("(run|zone|dependence)_entropy", "disorder of {}"),
    ("dependence_energy", "how uniform {} are"),
)
CONTRASTS = {
    "coarseness": "how coarse the texture is",
    "contrast": "how much brightness changes from spot to spot",
    "busyness": "how quickly brightness changes from spot to spot",
    "complexity": "how many different spots there are",
    "strength": "how distinct spots are",
}
COARSENESS = {"1": "fine", "2": "middle", "3": "coarse"}
STROKES = {"hl": "vertical", "lh": "horizontal", "hh": "diagonal"}
ZONES = {"core": "in the middle", "margin": "at the border", "surround": "around it"}
ARCS = {"a1": "just outside the border", "a2": "a little further out", "a3": "far out"}


def say_in_words(name: str) -> str:
    """Say what a feature of the catalogue looks at; an empty text for one that is not in it."""
    if name not in CATALOGUE:
        return ""
    family = CATALOGUE[name].family
    if family in _OF_FAMILY:
        return _OF_FAMILY[family](name)
    base, *parts = _find_base(name)
    return ", ".join([SPECIFIC[base], *(place for part in parts if (place := _say_place(part)))])


def _find_base(name: str) -> list[str]:
    """Split a name into its longest known base and the parts after it."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        if (base := ".".join(parts[:end])) in SPECIFIC:
            return [base, *parts[end:]]
    raise KeyError(name)


def _say_place(part: str) -> str:
    """Say where, or how large: zones, scales in tenths of mm, radii and widths in per cent of the candidate's."""
    if part in ZONES or part in ARCS:
        return ZONES.get(part) or ARCS[part]
    kind, number = part[0], int(part[1:])
    if kind == "s":
        return f"at a scale of {number / 10:g} mm"
    return f"within {number / 100:g} radii" if kind == "r" else f"in rings of {number / 100:g} radii"


def _say_channel(channel: str) -> str:
    """Say what the texture is looked at in: the image, smoothed images, or details of a size and direction."""
    if channel == "original":
        return "in the image"
    if channel == "gradient":
        return "in the strength of edges"
    if channel == "band4":
        return "in very coarse detail"
    level = re.sub(r"\D", "", channel)
    if channel.startswith("approximation"):
        return {
            "1": "in the slightly smoothed image",
            "2": "in the smoothed image",
            "3": "in the strongly smoothed image",
        }[level]
    return f"in {COARSENESS[level]}, {STROKES[channel[-2:]]} detail"


def _say_pairs(name: str) -> str:
    base, channel, distance, statistic = name.removeprefix("glcm_").split(".")
    apart = f"{distance[1:]} {'point' if distance == 'd1' else 'points'} apart"
    turned = ", by how much directions differ" if statistic == "range" else ""
    return f"{PAIRS[base]}, {_say_channel(channel)}, {apart}{turned}"


def _say_statistic(name: str) -> str:
    base, channel = name.removeprefix("first_order_").split(".")
    return f"{STATISTICS[base]}, {_say_channel(channel)}"


def _say_matrix(name: str) -> str:
    base, channel = name.split(".")
    kind, _, statistic = base.partition("_")
    words = next(words for pattern, words in MATRIX_WORDS if re.fullmatch(pattern, statistic))
    return f"{words.format(MATRICES[kind])}, {_say_channel(channel)}"


def _say_contrast(name: str) -> str:
    base, channel = name.removeprefix("ngtdm_").split(".")
    return f"{CONTRASTS[base]}, {_say_channel(channel)}"


def _say_pattern(name: str) -> str:
    _, ring, pattern = name.split(".")
    radius, count = (int(part[1:]) for part in ring.split("_"))
    number = int(pattern.removeprefix("pattern"))
    around = f"at {radius} {'point' if radius == 1 else 'points'}"
    if number > count:
        return f"share of points in irregular surroundings {around}"
    if number == 0:
        return f"share of points that are brighter than all around them {around}"
    if number == count:
        return f"share of points that are darkest, or as dark as all around them, {around}"
    return f"share of points with {number} of {count} neighbours {around} as bright or brighter, on one side"


def _say_waves(name: str) -> str:
    base, wave, angle = name.split(".")
    what = "mean strength" if base == "gabor_mean" else "unevenness"
    return f"{what} of stripes {wave[1:]} points wide, at {angle[1:]} degrees"


def _say_laws(name: str) -> str:
    words = {"l": "level", "e": "edge", "s": "spot", "w": "wave", "r": "ripple"}
    pair = name.removeprefix("laws_energy.")
    return f"strength of {words[pair[0]]} by {words[pair[2]]} texture"


def _say_difference(name: str) -> str:
    base = name.removeprefix("inside_minus_ring_").split(".")[0]
    return f"{STATISTICS[base]}, inside against around it"


def _say_learned(name: str) -> str:
    unit = name.removeprefix("learned.unit_")
    if unit == name:
        return "how much the trained network takes it for a nodule"
    return f"how strongly unit {int(unit)} of the trained network answers, which looks for no one named thing"


_OF_FAMILY = {
    "glcm": _say_pairs,
    "first_order": _say_statistic,
    "glrlm": _say_matrix,
    "glszm": _say_matrix,
    "ngldm": _say_matrix,
    "ngtdm": _say_contrast,
    "lbp": _say_pattern,
    "gabor": _say_waves,
    "laws": _say_laws,
    "inside_minus_ring": _say_difference,
    "learned": _say_learned,
}
