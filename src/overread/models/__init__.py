"""The soft multiple-instance model with L1, the baselines and crowd models beside it; saving, and export."""

from overread.models.boosted import BoostedBags
from overread.models.crowd.dawid_skene import DawidSkene
from overread.models.crowd.raykar import RaykarCrowd
from overread.models.loss.objective import SoftMILObjective
from overread.models.mixture import ReaderMixture
from overread.models.onnx_export import export_onnx
from overread.models.persistence import SavedModel, load, save
from overread.models.plots import reader_importance_figure
from overread.models.report import FitReport
from overread.models.rvm import RVMMIL, RVMReport
from overread.models.soft import SoftMILLogisticRegression
from overread.models.soft_path import PathProgress, SoftMILPath
from overread.models.tuning import Tuning, tune

__all__ = [
    "RVMMIL",
    "BoostedBags",
    "DawidSkene",
    "FitReport",
    "PathProgress",
    "RVMReport",
    "RaykarCrowd",
    "ReaderMixture",
    "SavedModel",
    "SoftMILLogisticRegression",
    "SoftMILObjective",
    "SoftMILPath",
    "Tuning",
    "export_onnx",
    "load",
    "reader_importance_figure",
    "save",
    "tune",
]
