"""Pascal VOC: an XML file for each image, with boxes ``xmin, ymin, xmax, ymax`` in pixels.

Numbers are edges: pixel (0, 0) covers [0, 1] x [0, 1]. The original VOC files count pixels from 1 and include the last;
most tools do not. The difference is at most a pixel. A box becomes its inscribed ellipse. The file does not state the
reader: a file or a folder of files is by one reader. A file without objects is a reading without marks.
"""

from pathlib import Path

from overread.errors import FormatError
from overread.marks._ellipse import DrawnEllipse
from overread.marks._mark_set import MarkSet
from overread.marks.formats._builder import MarkSetBuilder, Spacings
from overread.marks.formats._readers import child_text, children, files_of, number_in, read_xml


def read(path: Path, *, reader: str, spacings: Spacings | None = None) -> MarkSet:
    """Read one reader's file, or folder of files.

    Parameters
    ----------
    path : Path
        An XML file, or a folder of them.
    reader : str
        The reader.
    spacings : Spacings
        Millimetres per pixel.
    """
    builder = MarkSetBuilder(str(path), spacings or Spacings())
    for file in files_of(path, ".xml"):
        _read_file(builder, file, reader)
    return builder.build()


def _read_file(builder: MarkSetBuilder, file: Path, reader: str) -> None:
    """Add one image, its reading and its boxes."""
    root = read_xml(file, ["annotation"], "Pascal VOC")
    name = child_text(root, "filename") or file.stem
    size = next(children(root, "size"), None)
    width, height = (
        float("nan") if size is None else number_in(child_text(size, side), side, str(file))
        for side in ("width", "height")
    )
    builder.add_image(name, path=name, width=width, height=height)
    builder.add_reading(name, reader)
    for number, element in enumerate(children(root, "object")):
        place = f"{file}, object {number + 1}"
        box = next(children(element, "bndbox"), None)
        if box is None:
            raise FormatError(f"{place}: <bndbox> is missing")
        sides = [number_in(child_text(box, side), side, place) for side in ("xmin", "ymin", "xmax", "ymax")]
        builder.add_mark(
            name,
            reader,
            f"{reader}/{number}",
            **DrawnEllipse.fill_box(*sides)._asdict(),
            label=child_text(element, "name") or "",
            place=place,
        )
