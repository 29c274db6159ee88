"""VinDr-CXR: one row per box and reader, and a "No finding" row for a reading without marks.

Columns image_id, class_name, class_id, rad_id, x_min, y_min, x_max, y_max in pixels, read as edges: pixel (0, 0) covers
[0, 1] x [0, 1]. A box becomes its inscribed ellipse. The file does not state the pixel size, which must be given.
"""

import gzip
import zlib
from pathlib import Path

from overread.errors import FormatError, TableError
from overread.files import open_regular, read_capped
from overread.marks._ellipse import DrawnEllipse
from overread.marks._mark_set import MarkSet
from overread.marks.formats._builder import MarkSetBuilder, Spacings
from overread.tables import Cells, decode_csv, parse_cells, parse_number, read_cells

COLUMNS = ("image_id", "class_name", "rad_id", "x_min", "y_min", "x_max", "y_max")
NO_FINDING = "No finding"
LARGEST_FILE = 1 << 29


def read(path: Path, *, spacings: Spacings | None = None) -> MarkSet:
    """Read the csv, also gzipped.

    Parameters
    ----------
    path : Path
        A file that ends in ``.csv`` or ``.csv.gz``.
    spacings : Spacings
        Millimetres per pixel.
    """
    cells = _read_gzipped(path) if path.suffix == ".gz" else read_cells(path)
    missing = [name for name in COLUMNS if name not in cells.header]
    if missing:
        raise FormatError(f"{path}, row 1: not a VinDr-CXR table: the column {', '.join(missing)} is missing")
    builder = MarkSetBuilder(str(path), spacings or Spacings())
    columns = [cells.column(name) for name in COLUMNS]
    for row, (image_id, label, reader, *corners) in enumerate(zip(*columns, strict=True), start=2):
        builder.add_image(image_id)
        builder.add_reading(image_id, reader)
        if label != NO_FINDING:
            try:
                box = DrawnEllipse.fill_box(*map(parse_number, corners))
            except ValueError as error:
                raise FormatError(f"{path}, row {row}: {error} is not a number") from error
            builder.add_mark(image_id, reader, f"row{row}", **box._asdict(), label=label, place=f"row {row}")
        elif any(corners):
            raise FormatError(f"{path}, row {row}: a row of {NO_FINDING!r} has a box")
    return builder.build()


def _read_gzipped(path: Path) -> Cells:
    """Read a gzipped csv of at most 512 MB."""
    try:
        with open_regular(path) as packed, gzip.open(packed) as file:
            raw = read_capped(
                file,
                LARGEST_FILE,
                lambda _: TableError(f"{path}: more than {LARGEST_FILE >> 20} MB when unpacked"),
            )
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(f"{path}: cannot be read as gzip: {error}") from error
    return parse_cells(decode_csv(raw, path), path)
