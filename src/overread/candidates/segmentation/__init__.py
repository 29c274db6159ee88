"""Candidate -> its outline on the radiograph."""

from overread.candidates.segmentation.outlines import at_least_two, draw_outlines, patch_side, segment

__all__ = ["at_least_two", "draw_outlines", "patch_side", "segment"]
