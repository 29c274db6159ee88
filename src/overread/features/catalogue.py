"""All 1150 features by name: what each is, its unit, its formula, where it was published."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from overread.errors import InvalidInputError
from overread.features.feature import Family, Feature
from overread.features.specific import SPECIFIC_FAMILIES
from overread.features.texture_families import TEXTURE_FAMILIES

__all__ = ["CATALOGUE", "FAMILIES", "Catalogue"]

FAMILIES: tuple[Family, ...] = (*SPECIFIC_FAMILIES, *TEXTURE_FAMILIES)


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
        self._features: dict[str, Feature] = {}
        for family in families:
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

    def kind(self, kind: Literal["specific", "texture"]) -> tuple[Feature, ...]:
        """Give the specific features, or those of texture and intensity."""
        return tuple(feature for feature in self.values() if feature.kind == kind)

    def search(self, text: str) -> tuple[Feature, ...]:
        """Features whose name, formula or reference has all the words, whatever their case."""
        words = text.lower().split()
        return tuple(
            feature
            for feature in self.values()
            if all(word in f"{feature.name} {feature.formula} {feature.reference}".lower() for word in words)
        )

    def checked(self, names: Iterable[str]) -> tuple[str, ...]:
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
