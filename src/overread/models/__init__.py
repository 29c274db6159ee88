"""The soft multiple-instance model with L1, for one penalty or a whole path of them."""

from overread.models.loss.objective import SoftMILObjective
from overread.models.report import FitReport
from overread.models.soft import SoftMILLogisticRegression
from overread.models.soft_path import PathProgress, SoftMILPath

__all__ = ["FitReport", "PathProgress", "SoftMILLogisticRegression", "SoftMILObjective", "SoftMILPath"]
