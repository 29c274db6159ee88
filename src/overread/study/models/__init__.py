"""The models that a study can fit: a registry, one file a model."""

from __future__ import annotations

from overread.study.models.b1 import B1
from overread.study.models.b2 import B2
from overread.study.models.base import StudyModel
from overread.study.models.boosted import Boosted
from overread.study.models.soft import Soft

MODELS: dict[str, StudyModel] = {model.name: model for model in (Soft(), B1(), B2(), Boosted())}
"""In the order in which they are reported."""

DEFAULT_MODELS: tuple[str, ...] = tuple(name for name, model in MODELS.items() if model.by_default)
"""Models that a study fits by default."""
