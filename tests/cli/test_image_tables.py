"""The loop over images that commands share, with a work of its own."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from overread._commands import ImageTableOptions, write_image_table
from overread.errors import InvalidInputError, UsageError
from overread.images import write_png16


@pytest.fixture
def folder(tmp_path):
    """Three images, the second broken."""
    images = tmp_path / "images"
    images.mkdir()
    for name in ("a.png", "c.png"):
        write_png16(images / name, np.arange(600, dtype=np.uint16).reshape(20, 30))
    (images / "b.png").write_bytes(b"no image")
    return images


def width_of(image, radiograph):
    return pd.DataFrame({"candidate_id": ["1"], "width_mm": [radiograph.size_mm[0]]})


COLUMNS = {"candidate_id": "str", "width_mm": "float64"}


def options(folder, name="t.csv", **changes):
    return ImageTableOptions(folder, output=folder.parent / name, mm_per_px="0.7", **changes)


def test_rows_come_in_order_and_bad_images_are_named_and_skipped(folder, capsys):
    given = options(folder, json=True)
    assert write_image_table(given, given.list_images(), width_of, COLUMNS, title="Widths") == 3
    table = pd.read_csv(given.output)
    assert table["image_id"].tolist() == ["a", "c"]
    assert table["width_mm"].tolist() == pytest.approx([21.0, 21.0])
    told = capsys.readouterr()
    assert "overread: skipped b: " in told.err
    summary = json.loads(told.out)
    assert (summary["images"], summary["candidates"], list(summary["skipped"])) == (2, 2, ["b"])
    assert summary["output"] == str(given.output)


def test_work_that_refuses_an_image_skips_it_and_other_errors_stop(folder):
    given = options(folder)

    def refuse(image, radiograph):
        raise InvalidInputError("no")

    assert write_image_table(given, given.list_images(), refuse, COLUMNS, title="") == 3
    assert pd.read_csv(given.output).columns.tolist() == ["image_id", "candidate_id", "width_mm"]

    def fail(image, radiograph):
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        write_image_table(given, given.list_images(), fail, COLUMNS, title="")


def test_all_good_is_said_in_one_line(folder, capsys):
    (folder / "b.png").unlink()
    given = options(folder)
    assert write_image_table(given, given.list_images(), width_of, COLUMNS, title="Widths") == 0
    assert capsys.readouterr().out == f"Wrote {given.output}: 2 candidates of 2 images\n"


def test_an_output_that_is_read_or_no_table_is_refused(folder, tmp_path):
    with pytest.raises(UsageError, match=r"ends in \.csv or \.parquet"):
        options(folder, "t.txt").check_output()
    given = options(folder)
    with pytest.raises(UsageError, match="is one of the files to read"):
        given.check_output([given.output])
    with pytest.raises(UsageError, match="is one of the files to read"):
        ImageTableOptions(folder, output=folder / "images.csv").check_output()
