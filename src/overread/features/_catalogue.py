"""All features by name, with meaning, unit, formula and reference."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping

from overread.errors import InvalidInputError
from overread.features._family import Family, Feature, Kind
from overread.features.families import FAMILIES


class Catalogue(Mapping[str, Feature]):
    """Features by name, in the order of the columns that `extract_features` gives.

    ``CATALOGUE["shape.area"]`` is one feature, ``list(CATALOGUE)`` all names, ``CATALOGUE.family("shape")`` and
    ``CATALOGUE.kind("specific")`` some of them, ``CATALOGUE.search("noise")`` those whose text has a word.

    Parameters
    ----------
    families : iterable of Family
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
        """Return the names; refuse unknown and repeated ones."""
        wanted = tuple(names)
        for name in wanted:
            if name not in self._features:
                near = difflib.get_close_matches(name, self._features, n=3)
                hint = f"; near: {', '.join(near)}" if near else ""
                raise InvalidInputError(f"no feature {name!r}{hint} (overread features lists all)")
        if len(set(wanted)) != len(wanted):
            twice = next(name for name in wanted if wanted.count(name) > 1)
            raise InvalidInputError(f"feature {twice!r} is requested twice")
        return wanted


CATALOGUE = Catalogue(FAMILIES)
"""Every feature, in the order of the columns of `extract_features`."""


def say_in_words(name: str) -> str:
    """Describe in words what a feature measures; empty for a feature that is not in the catalogue."""
    return CATALOGUE[name].words if name in CATALOGUE else ""
