"""Candidate -> its outline on the radiograph."""

from overread.candidates.segmentation.outlines import draw_outlines, patch_side, segment

__all__ = ["draw_outlines", "patch_side", "segment"]
