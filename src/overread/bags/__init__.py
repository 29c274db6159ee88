"""Candidates and truth become bags; bags and soft labels work in scikit-learn."""

from overread.bags.bag_tables import score_table, truth_without_bag
from overread.bags.bags import Bags
from overread.bags.calibrator import CalibratedSoftClassifier, SoftCalibrator
from overread.bags.candidate_features import CandidateFeatures, FeatureRows, read_features
from overread.bags.grouping import Grouping, group_candidates, make_bags
from overread.bags.labels import SoftLabels, read_labels
from overread.bags.per_instance import PerInstance
from overread.bags.reader_bags import ReaderBags, reader_bags
from overread.bags.scoring import mean_soft_kl, out_of_fold, soft_kl_scorer
from overread.bags.splitting import SoftStratifiedGroupKFold, refuse_leakage, split_by_patient
from overread.bags.stored_instances import StoredInstances

__all__ = [
    "Bags",
    "CalibratedSoftClassifier",
    "CandidateFeatures",
    "FeatureRows",
    "Grouping",
    "PerInstance",
    "ReaderBags",
    "SoftCalibrator",
    "SoftLabels",
    "SoftStratifiedGroupKFold",
    "StoredInstances",
    "group_candidates",
    "make_bags",
    "mean_soft_kl",
    "out_of_fold",
    "read_features",
    "read_labels",
    "reader_bags",
    "refuse_leakage",
    "score_table",
    "soft_kl_scorer",
    "split_by_patient",
    "truth_without_bag",
]
