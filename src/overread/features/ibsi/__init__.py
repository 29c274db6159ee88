"""97 texture features of the Image Biomarker Standardisation Initiative on any two-dimensional array and mask.

Definitions and checks: ``docs/explanation/texture.md``.
"""

from overread.features.ibsi.first_order import first_order_features
from overread.features.ibsi.glcm import glcm_features
from overread.features.ibsi.glrlm import glrlm_features
from overread.features.ibsi.glszm import glszm_features
from overread.features.ibsi.levels import quantize
from overread.features.ibsi.ngldm import ngldm_features
from overread.features.ibsi.ngtdm import ngtdm_features
from overread.features.ibsi.regions import FEATURE_NAMES, texture_features, texture_matrix

__all__ = [
    "FEATURE_NAMES",
    "first_order_features",
    "glcm_features",
    "glrlm_features",
    "glszm_features",
    "ngldm_features",
    "ngtdm_features",
    "quantize",
    "texture_features",
    "texture_matrix",
]
