"""Images one after the other: taken up again to the same bytes, and no image costs another."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from overread.detection.batch import Batch, Request, detect_image
from overread.errors import ImageError, LockedError, StorageError
from overread.files.lock import folder_lock
from stand_in_detector import StandInDetector, write_images


@pytest.fixture
def images(tmp_path):
    return write_images(tmp_path / "in", 5)


def run(images, out, detector=None, **options):
    out.mkdir(exist_ok=True)
    request = Request(detector or StandInDetector(), 1.0, **options)
    batch = Batch(request, out / "journal")
    return batch, list(batch.run((path, None) for path in images))


def table(found):
    return pd.concat([one.rows.assign(image=str(one.path)) for one in found], ignore_index=True)


def test_all_images_are_done(images, tmp_path):
    batch, found = run(images, tmp_path / "out")
    assert [one.path for one in found] == images
    assert batch.n_worked == 5
    assert batch.seconds > 0
    assert found[0].rows["candidate_id"].tolist() == ["0001"]
    _, everything = run(images, tmp_path / "out", all_candidates=True)
    assert everything[0].rows["candidate_id"].tolist() == ["0001", "0002"]
    assert everything[0].rows["probability"].isna().tolist() == [False, True]


def test_stopped_at_any_byte_it_goes_on_to_the_same_table(images, tmp_path):
    out = tmp_path / "out"
    batch, found = run(images, out, documents=True, all_candidates=True)
    whole, expected = (out / "journal").read_bytes(), table(found)
    lines = whole.count(b"\n")
    assert lines == 6
    for length in [*range(0, len(whole), 397), len(whole)]:
        (out / "journal").write_bytes(whole[:length])
        detector = StandInDetector()
        batch, found = run(images, out, detector, documents=True, all_candidates=True)
        remembered = max(whole[:length].count(b"\n") - 1, 0)
        assert (batch.n_resumed, detector.n_asked) == (remembered, 5 - remembered)
        pd.testing.assert_frame_equal(table(found), expected)
        assert (out / "journal").read_bytes() == whole
        assert [one.report.image["image_id"] for one in found if one.report] == [
            json.loads(line)["found"]["report"]["image"]["image_id"] for line in whole.splitlines()[1:]
        ]


def test_a_damaged_line_is_done_again(images, tmp_path):
    out = tmp_path / "out"
    _, before = run(images, out)
    whole = (out / "journal").read_bytes()
    (out / "journal").write_bytes(whole.replace(b'"rows"', b'"rows', 1))
    batch, found = run(images, out)
    assert batch.n_resumed == 0
    pd.testing.assert_frame_equal(table(found), table(before))


def test_another_request_or_image_is_worked_on(images, tmp_path):
    out = tmp_path / "out"
    run(images, out)
    batch, _ = run(images, out)
    assert batch.n_resumed == 5
    images[0].write_bytes(images[1].read_bytes())
    assert run(images, out)[0].n_worked == 1
    assert run(images, out, documents=True)[0].n_worked == 5
    other = StandInDetector()
    other.to_bytes = lambda: b"another"
    assert run(images, out, other)[0].n_worked == 5


def test_bad_images_cost_no_other(images, tmp_path):
    images[1].write_bytes(b"no image")
    images[2].unlink()

    class WithABug(StandInDetector):
        def detect(self, radiograph):
            if self.n_asked == 1:
                self.n_asked += 1
                raise KeyError("a bug")
            return super().detect(radiograph)

    batch, found = run(images, tmp_path / "out", WithABug())
    assert [one.path for one in found] == [images[0], images[4]]
    assert list(batch.bad) == images[1:4]
    assert "no such file" in batch.bad[images[2]]
    assert "nobody foresaw: KeyError('a bug')" in batch.bad[images[3]]


def test_nothing_is_written_where_no_image_can_be_used(tmp_path):
    _, found = run([tmp_path / "missing.dcm"], tmp_path / "out")
    assert not found
    assert not list((tmp_path / "out").iterdir())


def test_a_missing_picture_is_drawn_again(images, tmp_path):
    drawn = []

    def draw(picture, _radiograph, candidates):
        drawn.append(picture.name)
        assert candidates["shown"].tolist() == [True, False]
        picture.touch()

    def work():
        pictures = {path: tmp_path / f"{path.stem}.png" for path in images}
        batch = Batch(Request(StandInDetector(), 1.0), tmp_path / "journal", draw=draw, pictures=pictures)
        return len(list(batch.run((path, None) for path in images)))

    assert work() == 5
    (tmp_path / "i0002.png").unlink()
    assert work() == 5
    assert drawn == [*(f"i000{number}.png" for number in range(5)), "i0002.png"]


def test_a_full_disk_stops_the_work(images, tmp_path):
    def draw(picture, _radiograph, _candidates):
        raise StorageError(f"{picture}: no space")

    batch = Batch(
        Request(StandInDetector(), 1.0), tmp_path / "journal", draw=draw, pictures={images[0]: tmp_path / "p"}
    )
    with pytest.raises(StorageError, match="no space"):
        list(batch.run([(images[0], None)]))


def test_two_at_once_are_refused(images, tmp_path):
    with (
        folder_lock(tmp_path, ".detections.lock", "{holder}"),
        pytest.raises(LockedError, match="writes here"),
    ):
        list(Batch(Request(StandInDetector(), 1.0), tmp_path / "journal").run([(images[0], None)]))


def test_one_image(images):
    radiograph, candidates, report = detect_image(
        Request(StandInDetector(), 1.0, documents=True), images[0], None
    )
    assert radiograph.mm_per_px == 0.7
    assert candidates["shown"].tolist() == [True, False]
    assert report is not None
    assert report.marks["mark_id"].tolist() == ["0001"]
    with pytest.raises(ImageError):
        detect_image(Request(StandInDetector(), 1.0), images[0].parent, None)
