"""What each reader drew: ellipses in mm, tables of marks and readings, importers of other tools' formats."""

from overread.marks.ellipse import Ellipse, overlap_area, overlap_areas
from overread.marks.importing import FORMATS, detect_format, read_marks, write_marks
from overread.marks.mark_set import MarkSet, combine, read_folder, write_folder

__all__ = [
    "FORMATS",
    "Ellipse",
    "MarkSet",
    "combine",
    "detect_format",
    "overlap_area",
    "overlap_areas",
    "read_folder",
    "read_marks",
    "write_folder",
    "write_marks",
]
