"""What a bag has from its image: the weight of its readings, and the patient it belongs to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.bags.validation import refuse_repeated, require_columns
from overread.errors import InvalidInputError, TableError

__all__ = ["find_patients", "weigh_readings"]

# Weights are n / n_max of small integers: what differs by more than this was made with another n_max.
SAME_WEIGHT = 1e-9


def weigh_readings(
    image_ids: pd.Series[Any], readings: pd.DataFrame, n_max: int | None, truth: pd.DataFrame
) -> NDArray[np.float64]:
    """Return the paper's a = n_readings / n_max of each image (appendix, "Different number of annotators").

    Parameters
    ----------
    image_ids : pandas.Series
        The images; one may come often.
    readings : pandas.DataFrame
        ``image_id``, ``reader_id``: a row a reading.
    n_max : int or None
        Largest number of readings of an image; found in ``readings`` where None.
    truth : pandas.DataFrame
        Where it has a ``weight``, that must be the same.
    """
    require_columns(readings, "readings", ["image_id", "reader_id"])
    refuse_repeated(readings, "readings", ["image_id", "reader_id"])
    counts = readings["image_id"].value_counts()
    largest = int(counts.max()) if n_max is None else n_max
    if counts.max() > largest:
        raise InvalidInputError(
            f"image {counts.index[0]!r} has {counts.max()} readings, over n_max {largest}"
        )
    n_readings = image_ids.map(counts)
    if n_readings.isna().any():
        image = image_ids[n_readings.isna()].iloc[0]
        raise TableError(f"readings: no reading of image {image!r}, which has candidates")
    _refuse_other_weights(truth, counts / largest)
    return n_readings.to_numpy(dtype=np.float64) / largest


def _refuse_other_weights(truth: pd.DataFrame, weight_of_image: pd.Series[Any]) -> None:
    if "weight" not in truth:
        return
    expected = truth["image_id"].map(weight_of_image).to_numpy(dtype=np.float64)
    given = truth["weight"].to_numpy(dtype=np.float64)
    differ = np.flatnonzero(np.abs(given - expected) > SAME_WEIGHT)
    if len(differ):
        row = differ[0]
        raise TableError(
            f"truth row {row}: weight {given[row]:g}, but the readings give {expected[row]:g}; pass the "
            "n_max with which the truth was made"
        )


def find_patients(image_ids: pd.Series[Any], images: pd.DataFrame | None) -> NDArray[Any]:
    """Return the patient of each image; the image itself where the images table knows no patients."""
    if images is None or "patient_id" not in images:
        return image_ids.to_numpy(dtype=object)
    require_columns(images, "images", ["image_id"])
    refuse_repeated(images, "images", ["image_id"])
    patients = image_ids.map(images.set_index("image_id")["patient_id"])
    if patients.isna().any():
        image = image_ids[patients.isna()].iloc[0]
        raise TableError(f"images: image {image!r} has candidates but no patient_id")
    return patients.to_numpy(dtype=object)
