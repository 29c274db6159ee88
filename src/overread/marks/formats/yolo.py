"""YOLO: a text file for each image, a row for each box: class, centre x, centre y, width, height.

All are fractions of the image's width and height; 0 and 1 are its edges, so that pixel (0, 0) covers [0, 1] x [0, 1]
px. A box becomes its inscribed ellipse. The file states neither reader nor image size: a folder is by one reader, and
the sizes come from the images table. An empty file is a reading without marks. ``classes.txt`` names the classes.
"""

import math
from pathlib import Path

from overread.errors import FormatError
from overread.files import read_capped
from overread.marks._mark_set import MarkSet
from overread.marks.formats._builder import MarkSetBuilder, Spacings
from overread.marks.formats._readers import files_of
from overread.tables import parse_number, quote_cell

CLASSES = "classes.txt"
LARGEST_FILE = 1 << 26


def read(path: Path, *, reader: str, spacings: Spacings | None = None) -> MarkSet:
    """Read one reader's folder.

    Parameters
    ----------
    path : Path
        Folder of ``.txt`` files named after their images, or one such file.
    reader : str
        The reader.
    spacings : Spacings
        Images table with spacings and sizes.
    """
    told = spacings or Spacings()
    folder = path if path.is_dir() else path.parent
    files = [one for one in files_of(path, ".txt") if one == path or one.name != CLASSES]
    if not files:
        raise FormatError(f"{path}: no .txt files except {CLASSES} in this folder")
    classes = _text_of(folder / CLASSES).splitlines() if (folder / CLASSES).is_file() else []
    builder = MarkSetBuilder(str(path), told)
    for file in files:
        _read_file(builder, file, reader, classes)
    return builder.build()


def _text_of(path: Path) -> str:
    """Text of a small file."""
    content = read_capped(
        path, LARGEST_FILE, lambda _: FormatError(f"{path}: more than {LARGEST_FILE >> 20} MB")
    )
    return content.decode("utf-8", "replace")


def _read_file(builder: MarkSetBuilder, file: Path, reader: str, classes: list[str]) -> None:
    """Add one image, its reading and its boxes."""
    image_id = file.stem
    builder.add_image(image_id)
    builder.add_reading(image_id, reader)
    rows = [line.split() for line in _text_of(file).splitlines()]
    known = builder.spacings.row(image_id)
    width, height = (float(known.get(side, math.nan)) for side in ("width_px", "height_px"))
    for number, cells in enumerate(rows, start=1):
        if not cells:
            continue
        place = f"{file}, row {number}"
        if len(cells) != 5:
            raise FormatError(
                f"{place}: {len(cells)} cells instead of class, x, y, width, height (polygons are not imported)"
            )
        if math.isnan(width) and not builder.spacings.others_go:
            raise FormatError(
                f"{place}: fractions need width_px and height_px of image {quote_cell(image_id)} in an images table "
                "(overread init makes one; or give --images)"
            )
        try:
            x, y, across, down = map(parse_number, cells[1:])
        except ValueError as error:
            raise FormatError(f"{place}: {error} is not a number") from None
        label = classes[int(cells[0])] if cells[0].isdigit() and int(cells[0]) < len(classes) else cells[0]
        builder.add_mark(
            image_id,
            reader,
            f"{reader}/{number}",
            centre=(x * width, y * height),
            semi_axes=(across * width / 2, down * height / 2),
            label=label,
            place=place,
        )
