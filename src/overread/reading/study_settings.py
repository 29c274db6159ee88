"""What a study's own settings say that the room has to follow."""

from __future__ import annotations

from pathlib import Path

from overread.truth.options import MergeOptions

__all__ = ["study_merging", "study_name"]

SETTINGS_FILE = "study.toml"


def study_name(folder: Path) -> str:
    """Name of a study: that of its settings, else that of its folder."""
    # Late: the settings of a study know all its models, and who makes a link should not wait for those.
    from overread.study.settings import read_settings

    path = folder / SETTINGS_FILE
    name = read_settings(path).name if path.is_file() else ""
    return name or folder.resolve().name


def study_merging(folder: Path) -> MergeOptions:
    """How the study's run will merge the marks: a chair has to decide on the same objects.

    A run in another unit than mm merges in that unit; what its settings say is nothing for marks in mm.
    """
    from overread.study.settings import read_settings

    path = folder / SETTINGS_FILE
    if not path.is_file():
        return MergeOptions()
    settings = read_settings(path)
    if settings.units.unit != "mm":
        return MergeOptions()
    return MergeOptions(**dict(settings.merging), seed=settings.seed)
