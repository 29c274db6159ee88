from ._first_order import first_order_features as first_order_features
from ._glcm import glcm_features as glcm_features
from ._levels import quantize as quantize
from ._regions import FEATURE_NAMES as FEATURE_NAMES
from ._regions import level_features as level_features
from ._regions import texture_features as texture_features
from ._regions import texture_matrix as texture_matrix
