"""Golden values of the texture features, written by the peers.

Run by ``.venv-peers/bin/python -m benchmarks.golden_texture``; writes ``tests/golden/texture.json``.
Random masked regions are quantized once, by ``tests/golden/texture_problems.py``, and the peers are given the
levels: pyradiomics with a bin width of 1 in forced 2D, nyxus with ``ibsi=True`` and a GLCM offset of 1.
``tests/features/ibsi/test_against_peers.py`` makes the same regions from the seed and compares. What differs
by definition is listed there, with the reason.
"""

from __future__ import annotations

import json
import logging
from importlib.metadata import version
from pathlib import Path

import mahotas
import nyxus
import SimpleITK
from radiomics import firstorder, glcm, gldm, glrlm, glszm, ngtdm
from tests.golden.texture_problems import CASES, Region, make_region

TARGET = Path(__file__).parents[1] / "tests" / "golden" / "texture.json"
NYXUS_FAMILIES = ["*ALL_INTENSITY*", "*ALL_GLCM*", "*ALL_GLRLM*", "*ALL_GLSZM*", "*ALL_NGLDM*", "*ALL_NGTDM*"]
PYRADIOMICS = {
    "firstorder": firstorder.RadiomicsFirstOrder,
    "glcm": glcm.RadiomicsGLCM,
    "glrlm": glrlm.RadiomicsGLRLM,
    "glszm": glszm.RadiomicsGLSZM,
    "gldm": gldm.RadiomicsGLDM,
    "ngtdm": ngtdm.RadiomicsNGTDM,
}


def with_pyradiomics(region: Region) -> dict[str, float]:
    """All features of the six classes; GLDM is the neighbouring grey level dependence matrix."""
    image = SimpleITK.GetImageFromArray(region.levels[None].astype("float64"))
    mask = SimpleITK.GetImageFromArray(region.mask[None].astype("uint8"))
    found = {}
    for name, of_class in PYRADIOMICS.items():
        calculator = of_class(image, mask, binWidth=1, force2D=True, force2Ddimension=0, label=1)
        calculator.enableAllFeatures()
        for feature, value in calculator.execute().items():
            found[f"{name}.{feature}"] = float(value)
    return found


def with_nyxus(region: Region) -> dict[str, float]:
    calculator = nyxus.Nyxus(NYXUS_FAMILIES, ibsi=True, n_feature_calc_threads=1)
    calculator.set_metaparam("glcm/offset=1")
    levels = region.levels.astype("uint32")
    table = calculator.featurize(levels, region.mask.astype("uint32"))
    names = [name for name in table.columns[4:] if not name.endswith(("_0", "_45", "_90", "_135"))]
    return {name: float(table[name].iloc[0]) for name in names}


def with_mahotas(region: Region) -> list[float]:
    """Haralick's 13 in mahotas' order, mean over 4 directions; 0 outside the mask is left out."""
    return mahotas.features.haralick(region.levels.astype("uint8"), ignore_zeros=True).mean(axis=0).tolist()


def main() -> None:
    logging.getLogger("radiomics").setLevel(logging.ERROR)
    peers = {name: version(name) for name in ("nyxus", "pyradiomics", "mahotas", "numpy")}
    cases = []
    for name in CASES:
        region = make_region(name)
        case = {
            "name": name,
            "checksum": region.checksum(),
            "pyradiomics": with_pyradiomics(region),
            "nyxus": with_nyxus(region),
            "mahotas": with_mahotas(region),
        }
        cases.append(case)
        print(f"{name:12s} pyradiomics {len(case['pyradiomics'])} nyxus {len(case['nyxus'])}")
    TARGET.write_text(json.dumps({"schema": 1, "peers": peers, "cases": cases}, indent=1) + "\n")


if __name__ == "__main__":
    main()
