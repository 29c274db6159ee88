"""The soft multiple-instance model with L1, for one penalty or a whole path of them; saving, and export."""

from overread.models.onnx_export import export_onnx
from overread.models.persistence import SavedModel, load, save
from overread.models.report import FitReport
from overread.models.soft import SoftMILLogisticRegression
from overread.models.soft_path import PathProgress, SoftMILPath

__all__ = [
    "FitReport",
    "PathProgress",
    "SavedModel",
    "SoftMILLogisticRegression",
    "SoftMILPath",
    "export_onnx",
    "load",
    "save",
]
