"""Candidates and truth become bags; bags and soft labels work in scikit-learn."""

from overread.bags.bags import Bags
from overread.bags.calibration import CalibratedSoftClassifier, SoftCalibrator
from overread.bags.labels import SoftLabels, read_labels
from overread.bags.per_instance import PerInstance
from overread.bags.scoring import mean_soft_kl, out_of_fold, soft_kl_scorer
from overread.bags.splitting import SoftStratifiedGroupKFold, refuse_leakage, split_by_patient

__all__ = [
    "Bags",
    "CalibratedSoftClassifier",
    "PerInstance",
    "SoftCalibrator",
    "SoftLabels",
    "SoftStratifiedGroupKFold",
    "mean_soft_kl",
    "out_of_fold",
    "read_labels",
    "refuse_leakage",
    "soft_kl_scorer",
    "split_by_patient",
]
