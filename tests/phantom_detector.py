"""A small real detector: soft model on a few families of features of three phantoms."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from overread.bags import Bags
from overread.domains import ChestDomain, find_anatomy, find_candidates
from overread.features import CATALOGUE, extract_features
from overread.images import GRID_MM, read_image, write_dicom, write_png16
from overread.models import SoftMILLogisticRegression
from overread.simulate import CaseDistribution, phantom
from overread.simulate._backgrounds import phantom_background
from overread.simulate._cases import draw_case, pixels_with_nodules
from overread.study import Detector, OperatingPoint
from overread.study._calibration import ScoreCalibration

FAMILIES = ("profile", "blob", "lung")
LIMIT = 12


@dataclass(frozen=True)
class Trained:
    """Detector, the files it was trained on, and its features there."""

    detector: Detector
    dicom: tuple[Path, ...]
    png: tuple[Path, ...]
    instances: dict[Path, pd.DataFrame]


def train(folder: Path) -> Trained:
    """Write three phantoms with nodules as DICOM and PNG, and fit a detector to made-up labels of their candidates."""
    dicom, png, tables = [], [], {}
    names = [name for name, feature in CATALOGUE.items() if feature.family in FAMILIES]
    for number in range(3):
        background = phantom_background(phantom(seed=number, mm_per_px=GRID_MM))
        case = draw_case(background, [], CaseDistribution(), np.random.default_rng(number), n_nodules=2)
        pixels = pixels_with_nodules(background, case.nodules)
        png.append(write_png16(folder / f"case{number}.png", pixels))
        dicom.append(
            write_dicom(
                folder / f"case{number}.dcm", pixels, GRID_MM, patient_id="P", image_id=f"case{number}"
            )
        )
        radiograph = read_image(dicom[-1])
        regions = find_anatomy(radiograph)
        candidates = find_candidates(radiograph, anatomy=regions, limit=LIMIT)
        features = extract_features(radiograph, candidates, regions, features=names)
        tables[dicom[-1]] = candidates.merge(features, on="candidate_id", validate="one_to_one")
    everything = pd.concat(tables.values(), ignore_index=True)
    response = everything["response"].rank(pct=True).to_numpy()
    bags = Bags.singletons(everything[names].to_numpy(np.float32), feature_names=names)
    model = SoftMILLogisticRegression(alpha=0.02).fit(bags, np.where(response > 0.6, 0.75, 0.0))
    scores = np.sort(model.instance_decision_function(bags))
    points = tuple(OperatingPoint(fp, float(scores[-k])) for fp, k in ((0.5, 6), (1.0, 12), (2.0, 20)))
    detector = Detector(
        name="Soft",
        model=model,
        score_map=ScoreCalibration("sigmoid", 1.5, -0.25, [], [], {}),
        operating_points=points,
        domain=ChestDomain(),
        limit=LIMIT,
        repeats="suppress",
        trained_on="three phantoms",
    )
    return Trained(detector, tuple(dicom), tuple(png), tables)
