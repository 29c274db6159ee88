"""What each reader drew: ellipses in mm, tables of marks and readings, importers of other tools' formats."""

from overread.marks.ellipse import Ellipse, overlap_area, overlap_areas
from overread.marks.importing import FORMATS, detect_format, read_marks, write_marks
from overread.marks.mark_set import MarkSet, combine, read_folder, write_folder
from overread.marks.problems import Problem
from overread.marks.tables import read_table, write_table
from overread.marks.validation import validate_images, validate_marks, validate_readings, validate_study

__all__ = [
    "FORMATS",
    "Ellipse",
    "MarkSet",
    "Problem",
    "combine",
    "detect_format",
    "overlap_area",
    "overlap_areas",
    "read_folder",
    "read_marks",
    "read_table",
    "validate_images",
    "validate_marks",
    "validate_readings",
    "validate_study",
    "write_folder",
    "write_marks",
    "write_table",
]
