"""What each reader drew: ellipses in mm, tables of marks and readings, importers of other tools' formats."""

from overread.marks.ellipse import Ellipse, overlap_area, overlap_areas

__all__ = ["Ellipse", "overlap_area", "overlap_areas"]
