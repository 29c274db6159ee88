"""A node beside a real Orthanc: images from it, documents to it, and back exactly."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from pydicom import dcmread

from dicom_marks import complaints
from overread.marks import MarkSet, read_marks
from overread.marks.formats._dicom_writers import write_sr

TESTS = Path(__file__).parents[1]
COLUMNS = ["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg", "confidence"]


@pytest.fixture(scope="module")
def own_network() -> list[str]:
    """Command that runs another in a network of its own; its absence skips a test, but fails it under CI."""
    unshare, orthanc = shutil.which("unshare"), shutil.which("Orthanc")
    if unshare is None or orthanc is None or shutil.which("ip") is None:
        pytest.skip("needs Debian's packages orthanc, util-linux and iproute2")
    start = [unshare, "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    if subprocess.run([*start, "true"], check=False, capture_output=True).returncode:
        pytest.skip("needs the right to make a network namespace")
    return start


def write_changed(folder: Path, image: Path) -> list[Path]:
    """Write one report, and the same marks as outlines."""
    folder.mkdir()
    uid = str(dcmread(image).SOPInstanceUID)
    images = pd.DataFrame({"image_id": [uid], "path": [str(image)], "mm_per_px_x": 0.7, "mm_per_px_y": 0.7})
    readings = pd.DataFrame({"image_id": [uid], "reader_id": ["R1"]})
    shape = dict(zip(COLUMNS, (50.0, 60.0, 5.0, 3.0, 20.0, 0.5), strict=True))
    marks = readings.assign(mark_id="1", label="Nodule", **shape)
    mark_set = MarkSet(marks, readings, images)
    return [
        path
        for geometry in ("ellipse", "polyline")
        for path in write_sr(mark_set, folder, images_folder=Path("/"), geometry=geometry)
    ]


@pytest.mark.slow
def test_images_from_orthanc_are_answered_and_come_back_exactly(own_network, trained, tmp_path):
    detector = trained.detector.write(tmp_path / "detector.json")
    changed = write_changed(tmp_path / "changed", trained.dicom[0])
    command = [sys.executable, str(TESTS / "orthanc_trip.py"), str(detector), str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    subprocess.run(
        [*own_network, *command, *map(str, trained.dicom)], check=True, timeout=900, env=environment
    )
    told = json.loads((tmp_path / "told.json").read_text())
    assert told["networks"] == ["lo"]
    assert told["sent again"] == 0
    # Three images, a report and a state of each.
    assert told["instances"] == 9
    assert told["stored"] == dict.fromkeys((path.stem for path in changed), "Success")
    written, back = tmp_path / "spool" / "documents", tmp_path / "back"
    assert {path.name for path in written.iterdir()} == {path.name for path in back.iterdir()}
    n_marks = 0
    for path in back.iterdir():
        assert complaints(path) == []
        ours, theirs = (read_marks(folder / path.name, mm_per_px=0.7) for folder in (written, back))
        pd.testing.assert_frame_equal(ours.marks, theirs.marks, rtol=0, atol=1e-9)
        pd.testing.assert_frame_equal(ours.readings, theirs.readings)
        n_marks += len(ours.marks)
        image = next(
            one for one in map(dcmread, trained.dicom) if one.SOPInstanceUID in set(ours.images["image_id"])
        )
        assert dcmread(path).StudyInstanceUID == image.StudyInstanceUID
    assert n_marks > 0
