"""The soft multiple-instance model with its penalties, the baselines and crowd models beside it; saving, and export."""

from overread.models.boosted import BoostedBags
from overread.models.crowd.dawid_skene import DawidSkene
from overread.models.crowd.raykar import RaykarCrowd
from overread.models.loss.objective import SoftMILObjective
from overread.models.mixture import ReaderMixture
from overread.models.onnx_export import export_onnx
from overread.models.penalties.elastic_net import ElasticNet
from overread.models.penalties.l1 import L1
from overread.models.penalties.penalty import Penalty
from overread.models.persistence import SavedModel, load, save
from overread.models.plots import reader_importance_figure
from overread.models.report import FitReport
from overread.models.rvm import RVMMIL, RVMReport
from overread.models.soft import SoftMILLogisticRegression
from overread.models.soft_path import PathProgress, SoftMILPath
from overread.models.tuning import Tuning, tune

__all__ = [
    "L1",
    "RVMMIL",
    "BoostedBags",
    "DawidSkene",
    "ElasticNet",
    "FitReport",
    "PathProgress",
    "Penalty",
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
