"""The relevance vector machine for bags (B1): a Gaussian prior per feature, its width learned from the evidence."""

from overread.models.rvm.estimator import RVMMIL
from overread.models.rvm.report import RVMReport

__all__ = ["RVMMIL", "RVMReport"]
