"""A file's place and ending say how it is written and read."""

import numpy as np
import pandas as pd
import pytest

from overread.files import ColumnFile, encode_columns
from overread.models import RVMMIL
from overread.study._store import decode_file, encode_file


@pytest.fixture
def there_and_back(tmp_path):
    def send(relative, value):
        path = tmp_path / relative
        path.parent.mkdir(exist_ok=True)
        content = encode_file(relative, value)
        path.write_bytes(content if isinstance(content, bytes) else b"".join(content))
        return decode_file(path)

    return send


def test_tables(there_and_back):
    table = pd.DataFrame(
        {"image_id": pd.Series(["NA", "007", ""], dtype="str"), "x": [1.5, np.nan, -0.0], "n": [1, 2, 3]}
    )
    pd.testing.assert_frame_equal(there_and_back("tables/t.parquet", table), table)


@pytest.mark.parametrize("value", [[], {}, {"a": [1, 2.5, None, "ü"]}, "text", 3])
def test_plain_values(there_and_back, value):
    assert there_and_back("tuning/x.json", value) == value


def test_models(there_and_back):
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3))
    model = RVMMIL().fit(X, (X[:, 0] > 0).astype(int))
    again = there_and_back("models/m.json", model)
    assert np.array_equal(again.coef_, model.coef_)


def test_matrices_stay_on_disk(there_and_back):
    matrix = np.arange(6.0).reshape(2, 3)
    store = there_and_back("features.npy", encode_columns(matrix.T, 2, 3, matrix.dtype))
    assert isinstance(store, ColumnFile)
    assert np.array_equal(store.take(np.arange(2)), matrix)


@pytest.mark.parametrize("relative", ["report.html", "x.json", "tables/t.parquet", "models/m.json"])
def test_bytes_are_taken_as_they_are(relative):
    assert encode_file(relative, b"\x00anything") == b"\x00anything"


def test_text(there_and_back):
    assert there_and_back("report.html", "<p>ü</p>") == "<p>ü</p>"
