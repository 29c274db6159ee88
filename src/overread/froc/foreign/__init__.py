"""Detections and truth written by other tools."""

from overread.froc.foreign.detections import (
    Detections,
    ForeignTruth,
    Spacing,
    read_detections,
    read_foreign_truth,
    read_positions,
)

__all__ = ["Detections", "ForeignTruth", "Spacing", "read_detections", "read_foreign_truth", "read_positions"]
