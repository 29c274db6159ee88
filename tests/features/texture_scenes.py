"""The texture features of candidates on constructed images."""

import numpy as np

from overread.features.families import FAMILIES

TEXTURE_FAMILIES = [family for family in FAMILIES if family.features[0].kind == "texture"]
FEATURES = [feature for family in TEXTURE_FAMILIES for feature in family.features]
NAMES = [feature.name for feature in FEATURES]
CENTRE = (99.0, 109.0)


def compute(context):
    return np.hstack([family.compute(context) for family in TEXTURE_FAMILIES])


def patch_of(texture, side=63):
    half = side // 2
    return texture[99 - half : 100 + half, 109 - half : 110 + half]
