"""The soft multiple-instance model with L1, for one penalty or a whole path of them; saving, and export."""

from overread.models.crowd.dawid_skene import DawidSkene
from overread.models.crowd.raykar import RaykarCrowd
from overread.models.loss.objective import SoftMILObjective
from overread.models.onnx_export import export_onnx
from overread.models.persistence import SavedModel, load, save
from overread.models.report import FitReport
from overread.models.soft import SoftMILLogisticRegression
from overread.models.soft_path import PathProgress, SoftMILPath

__all__ = [
    "DawidSkene",
    "FitReport",
    "PathProgress",
    "RaykarCrowd",
    "SavedModel",
    "SoftMILLogisticRegression",
    "SoftMILObjective",
    "SoftMILPath",
    "export_onnx",
    "load",
    "save",
]
