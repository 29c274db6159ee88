"""The soft multiple-instance model with L1 and the baselines beside it; saving, and export."""

from overread.models.mixture import ReaderMixture
from overread.models.onnx_export import export_onnx
from overread.models.persistence import SavedModel, load, save
from overread.models.report import FitReport
from overread.models.rvm import RVMMIL, RVMReport
from overread.models.soft import SoftMILLogisticRegression
from overread.models.soft_path import PathProgress, SoftMILPath

__all__ = [
    "RVMMIL",
    "FitReport",
    "PathProgress",
    "RVMReport",
    "ReaderMixture",
    "SavedModel",
    "SoftMILLogisticRegression",
    "SoftMILPath",
    "export_onnx",
    "load",
    "save",
]
