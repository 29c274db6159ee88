"""All 97 features against the consensus values of the Image Biomarker Standardisation Initiative."""

import json

import numpy as np
import pytest
from feature_scenes import glrlm_features, glszm_features, ngldm_features, ngtdm_features

from overread.features import first_order_features, glcm_features

FIRST_ORDER = "mean var skew kurt median min p10 p90 max iqr range mad rmad medad cov qcod energy rms"
GLCM = (
    "joint_max joint_avg joint_var joint_entr diff_avg diff_var diff_entr sum_avg sum_var sum_entr energy contrast "
    "dissimilarity inv_diff inv_diff_norm inv_diff_mom inv_diff_mom_norm inv_var corr auto_corr clust_tend "
    "clust_shade clust_prom info_corr1 info_corr2"
)
GLRLM = "sre lre lgre hgre srlge srhge lrlge lrhge glnu glnu_norm rlnu rlnu_norm r_perc gl_var rl_var rl_entr"
GLSZM = "sze lze lgze hgze szlge szhge lzlge lzhge glnu glnu_norm zsnu zsnu_norm z_perc gl_var zs_var zs_entr"
NGLDM = (
    "lde hde lgce hgce ldlge ldhge hdlge hdhge glnu glnu_norm dcnu dcnu_norm dc_perc gl_var dc_var dc_entr"
)
NGLDM += " dc_energy"
NGTDM = "coarseness contrast busyness complexity strength"
FAMILIES = {
    "stat": (FIRST_ORDER, "", first_order_features),
    "cm": (GLCM, "_2D_avg", glcm_features),
    "rlm": (GLRLM, "_2D_avg", glrlm_features),
    "szm": (GLSZM, "_2D", glszm_features),
    "ngl": (NGLDM, "_2D", ngldm_features),
    "ngt": (NGTDM, "_2D", ngtdm_features),
}
TAGS = [
    (family, index, f"{family}_{name}{suffix}")
    for family, (names, suffix, _) in FAMILIES.items()
    for index, name in enumerate(names.split())
]


@pytest.fixture(scope="module")
def reference(shared_data):
    return json.loads((shared_data / "ibsi" / "ibsi1_digital_phantom_reference.json").read_text())["values"]


@pytest.fixture(scope="module")
def computed(shared_data):
    """Features by family: whole region for the first order, else the mean over slices."""
    image = np.load(shared_data / "ibsi" / "digital_phantom_image_zyx.npy")
    mask = np.load(shared_data / "ibsi" / "digital_phantom_mask_zyx.npy").astype(bool)
    found = {"stat": list(first_order_features(image.reshape(4, -1), mask.reshape(4, -1)).values())}
    slices = np.where(mask, image, 0)
    for family in ("cm", "rlm", "szm", "ngl", "ngt"):
        function = FAMILIES[family][2]
        found[family] = np.mean([list(function(s, n_levels=6).values()) for s in slices], axis=0)
    return found


def half_a_unit(value: float) -> float:
    """Half a unit in the third significant figure, to which the consensus values are published."""
    return 0.5 * 10 ** (np.floor(np.log10(abs(value))) - 2) if value else 0.0


def test_there_are_97():
    assert len(TAGS) == 97


@pytest.mark.parametrize(("family", "index", "tag"), TAGS, ids=[tag for _, _, tag in TAGS])
def test_equals_the_consensus(family, index, tag, computed, reference):
    value, tolerance = reference[tag]["value"], reference[tag]["tolerance"]
    assert abs(computed[family][index] - value) <= max(tolerance, half_a_unit(value) * (1 + 1e-9))
