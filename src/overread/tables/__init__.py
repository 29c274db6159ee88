"""Tables that pass between the stages: schemas, CSV and Parquet, problems with row and remedy."""

from overread.tables.problems import Problem
from overread.tables.table_files import read_table, write_table
from overread.tables.validation import validate_images, validate_marks, validate_readings, validate_study

__all__ = [
    "Problem",
    "read_table",
    "validate_images",
    "validate_marks",
    "validate_readings",
    "validate_study",
    "write_table",
]
