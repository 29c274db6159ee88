"""Whether the images of a run are chests, looked at before hours are spent on their features."""

from __future__ import annotations

from collections.abc import Sequence

from overread.errors import ImageError, InvalidInputError
from overread.study._pipeline import ImageTask

# Images that are looked at, spread over the study. Chosen by eye: half of them being wrong is then no accident.
N_LOOKED_AT = 12
REMEDY = (
    'if the images are no chest radiographs, say where to look: [region] kind = "field_of_view", "masks" or "all" in'
    " study.toml (docs/explanation/fields.md)"
)


def refuse_other_than_chests(tasks: Sequence[ImageTask]) -> None:
    """Stop where in most of some images a lung is not seen, or the picture is in colour.

    A lung that is not seen is replaced by a guess (`overread.domains.chest._lungs`), which single images may need; a
    study of guesses would run to its end and mean nothing. On NIH radiographs a guess is rare
    (docs/explanation/fields.md).

    Raises
    ------
    InvalidInputError
        Saying how many, and naming [region].
    """
    step = max(len(tasks) // N_LOOKED_AT, 1)
    looked_at = list(tasks[::step])[:N_LOOKED_AT]
    judged = [judged for task in looked_at if (judged := _shows_chest(task)) is not None]
    n_wrong = judged.count(False)
    if 2 * n_wrong > len(judged):
        raise InvalidInputError(
            f"in {n_wrong} of {len(judged)} images that were looked at no pair of lungs is seen; {REMEDY}"
        )


def _shows_chest(task: ImageTask) -> bool | None:
    """Whether both lungs are seen in an image; None where it cannot be read for another reason than its colours."""
    from overread.domains import find_lungs
    from overread.features import Quality
    from overread.images import read_channels, read_image

    try:
        lungs = find_lungs(read_image(task.path, mm_per_px=task.mm_per_px))
    except ImageError:
        try:
            return None if read_channels(task.path).shape[2] == 1 else False
        except ImageError:
            return None
    return Quality.FALLBACK not in (lungs.left_quality, lungs.right_quality)
