"""What we write is read by dcmtk, an implementation of DICOM that is not ours: its reports, states and pictures agree.

dcmtk's viewer command renders an image under a presentation state and gives the state back as it understood it; it
paints no graphics itself. So the ellipse that it understood is compared with the bright pixels that it painted.
"""

import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from pydicom import dcmread

from overread.images import write_dicom
from overread.marks import MarkSet, read_marks
from overread.marks.formats._dicom_writers import write_gsps, write_sr

SHAPE = (300, 400)
MM = (0.5, 0.8)
COLUMNS = ["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg", "confidence"]
ELLIPSE = (100.0, 90.0, 40.0, 20.0, 30.0, 0.7)


def call(program: str, *arguments: object) -> str:
    """Run a program of dcmtk and return what it prints."""
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}, from Debian's package dcmtk")
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=True).stdout


def inside(points_mm: np.ndarray) -> np.ndarray:
    """Whether points lie in the ellipse: its axis turns clockwise on screen, where y points down."""
    x, y, major, minor, degrees, _ = ELLIPSE
    turn = np.deg2rad(degrees)
    dx, dy = points_mm[..., 0] - x, points_mm[..., 1] - y
    along, across = dx * np.cos(turn) + dy * np.sin(turn), dy * np.cos(turn) - dx * np.sin(turn)
    return (along / major) ** 2 + (across / minor) ** 2 <= 1


@pytest.fixture(params=["MONOCHROME2", "MONOCHROME1"])
def mark_set(request, tmp_path: Path) -> MarkSet:
    """Make an image that is bright just where its one mark is, whatever its file's grey scale."""
    rows, columns = np.mgrid[: SHAPE[0], : SHAPE[1]]
    centres = np.stack([(columns + 0.5) * MM[0], (rows + 0.5) * MM[1]], axis=-1)
    pixels = np.where(inside(centres), 3000, 1000).astype(np.uint16)
    path = write_dicom(tmp_path / "a.dcm", pixels, 0.5, patient_id="P", image_id="a")
    dataset = dcmread(path)
    dataset.PatientName = "A^B"  # dcmtk opens no state without a name
    dataset.PixelSpacing = [MM[1], MM[0]]
    dataset.PhotometricInterpretation = request.param
    if request.param == "MONOCHROME1":
        dataset.PixelData = (4000 - pixels).tobytes()
    dataset.WindowCenter, dataset.WindowWidth = 2000, 4000
    dataset.save_as(path)
    images = pd.DataFrame(
        {"image_id": ["a"], "path": ["a.dcm"], "mm_per_px_x": [MM[0]], "mm_per_px_y": [MM[1]]}
    )
    readings = pd.DataFrame({"image_id": ["a"], "reader_id": ["R1"]})
    marks = readings.assign(mark_id="m1", label="Nodule", **dict(zip(COLUMNS, ELLIPSE, strict=True)))
    return MarkSet(marks, readings, images)


def test_dcmtk_shows_the_ellipse_of_a_state_where_it_is(mark_set, tmp_path):
    (state,) = write_gsps(mark_set, tmp_path / "states", images_folder=tmp_path)
    picture, saved = tmp_path / "picture.pgm", tmp_path / "saved.dcm"
    call("dcmp2pgm", "--pstate", state, "--save-pstate", saved, tmp_path / "a.dcm", picture)
    painted = np.asarray(Image.open(picture))
    assert painted.shape == SHAPE
    graphic = dcmread(saved).GraphicAnnotationSequence[0].GraphicObjectSequence[0]
    assert graphic.GraphicType == "ELLIPSE"
    # End points of the major and the minor axis, in pixels of the picture; (0, 0) is a corner (PS3.3 C.10.5).
    first, second, third, fourth = np.reshape(graphic.GraphicData, (4, 2))
    centre, axes = (first + second) / 2, np.array([second - first, fourth - third]) / 2
    rows, columns = np.mgrid[: SHAPE[0], : SHAPE[1]]
    offsets = np.stack([columns + 0.5, rows + 0.5], axis=-1) - centre
    within = (np.linalg.solve(axes.T, offsets[..., None])[..., 0] ** 2).sum(axis=-1) <= 1
    bright = painted > 128
    assert bright.sum() > 5000
    # Pixels right on the outline may fall to either side: end points are in single precision.
    assert (within != bright).sum() <= 5


def test_the_state_that_dcmtk_understood_reads_back_equal(mark_set, tmp_path):
    (state,) = write_gsps(mark_set, tmp_path / "states", images_folder=tmp_path)
    saved = tmp_path / "saved.dcm"
    call("dcmp2pgm", "--pstate", state, "--save-pstate", saved, tmp_path / "a.dcm", tmp_path / "picture.pgm")
    before, after = (read_marks(path, mm_per_px=MM).marks for path in (state, saved))
    np.testing.assert_allclose(after[COLUMNS[:5]], before[COLUMNS[:5]], atol=1e-9)


def test_dcmtk_reads_the_region_and_the_words_of_a_report(mark_set, tmp_path):
    (report,) = write_sr(mark_set, tmp_path / "reports", images_folder=tmp_path)
    told = call("dsrdump", "--quiet", report)
    assert 'TEXT:(,,"Tracking Identifier")="m1"' in told
    assert 'CODE:(,,"Finding")=(27925004,SCT,"Nodule")' in told
    assert 'NUM:(,,"Certainty of Finding")="0.7"' in told
    tree = ElementTree.fromstring(call("dsr2xml", "--quiet", report))
    region = next(one for one in tree.iter("scoord"))
    assert region.get("type") == "ELLIPSE"
    assert region.find("image/value/instance").get("uid") == str(dcmread(tmp_path / "a.dcm").SOPInstanceUID)
    points = np.array([point.split("/") for point in region.find("data").text.split(",")], dtype=float)
    # 100 mm and 90 mm at 0.5 x 0.8 mm, in single precision.
    np.testing.assert_allclose(points.mean(axis=0), [200.0, 112.5], rtol=1e-6)
