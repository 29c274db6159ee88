"""Images one after the other: taken up again to the same bytes, and no image costs another."""

import json
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from overread.errors import LockedError, StorageError
from overread.files import folder_lock
from overread.study import Batch, DetectionPipeline, Request, choose_workers
from overread.study import _detect as batches
from overread.study.executors._worker import Fault, Outcome, work_on
from stand_in_detector import StandInDetector, write_images


@pytest.fixture
def images(tmp_path):
    return write_images(tmp_path / "in", 5)


def run(images, out, detector=None, **options):
    out.mkdir(exist_ok=True)
    request = Request(detector or StandInDetector(), 1.0, **options)
    batch = Batch(request, out / "journal")
    return batch, batch.run((path, None) for path in images)


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
            json.loads(line)["value"]["report"]["image"]["image_id"] for line in whole.splitlines()[1:]
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


def test_an_image_whose_mask_is_another_is_worked_on_again(images, tmp_path):
    detector, masks = StandInDetector(), tmp_path / "masks"
    detector.domain = SimpleNamespace(needs_masks=True, document_border=lambda image: 1.0, target="object")
    masks.mkdir()
    for path in images:
        (masks / path.name).write_bytes(b"region")
    assert run(images, tmp_path / "out", detector, masks=masks)[0].n_worked == 5
    (masks / images[2].name).write_bytes(b"another")
    batch, _ = run(images, tmp_path / "out", detector, masks=masks)
    assert (batch.n_worked, batch.n_resumed) == (1, 4)
    (masks / images[2].name).unlink()
    assert run(images, tmp_path / "out", detector, masks=masks)[0].n_worked == 1


def test_bad_images_cost_no_other(images, tmp_path):
    images[1].write_bytes(b"no image")
    images[2].unlink()

    class WithABug(StandInDetector):
        def detect(self, radiograph, n_threads=None):
            if self.n_asked == 1:
                self.n_asked += 1
                raise KeyError("a bug")
            return super().detect(radiograph)

    batch, found = run(images, tmp_path / "out", WithABug())
    assert [one.path for one in found] == [images[0], images[4]]
    assert list(batch.bad) == images[1:4]
    assert "no such file" in batch.bad[images[2]]
    assert batch.bad[images[3]].startswith(f"{images[3]}: failed: KeyError in test_batch.py, line ")


def test_nothing_is_written_where_no_image_can_be_used(tmp_path):
    _, found = run([tmp_path / "missing.dcm"], tmp_path / "out")
    assert not found
    assert not list((tmp_path / "out").iterdir())


def test_a_missing_picture_is_drawn_again(images, tmp_path):
    def work():
        pictures = {path: tmp_path / f"{path.stem}.png" for path in images}
        detector = StandInDetector()
        batch = Batch(Request(detector, 1.0), tmp_path / "journal", pictures=pictures)
        assert len(batch.run((path, None) for path in images)) == 5
        return detector.n_asked

    assert work() == 5
    first = (tmp_path / "i0002.png").read_bytes()
    assert first.startswith(b"\x89PNG")
    assert work() == 0
    (tmp_path / "i0002.png").unlink()
    assert work() == 1
    assert (tmp_path / "i0002.png").read_bytes() == first


def test_a_full_disk_stops_the_work(images, tmp_path):
    (tmp_path / "no folder").touch()
    pictures = {images[0]: tmp_path / "no folder" / "p.png"}
    batch = Batch(Request(StandInDetector(), 1.0), tmp_path / "journal", pictures=pictures)
    with pytest.raises(StorageError):
        batch.run([(images[0], None)])
    assert not (tmp_path / "journal").exists()


def test_two_at_once_are_refused(images, tmp_path):
    with (
        folder_lock(tmp_path, ".detections.lock", "{holder}"),
        pytest.raises(LockedError, match="writes here"),
    ):
        Batch(Request(StandInDetector(), 1.0), tmp_path / "journal").run([(images[0], None)])


def test_a_few_images_need_no_workers(monkeypatch):
    monkeypatch.setattr(batches, "count_processors", lambda: 8)
    assert [choose_workers(None, count) for count in (1, 31, 32, 2000)] == [1, 1, 8, 8]
    assert choose_workers(3, 2) == 3


@pytest.mark.slow
def test_worker_processes_give_the_same_bytes_in_the_same_order(trained, tmp_path):
    bad = tmp_path / "bad.dcm"
    bad.write_bytes(b"no image")
    paths = [trained.dicom[0], bad, *trained.dicom[1:], tmp_path / "missing.dcm"]
    results = {}
    for n_workers in (1, 2):
        out = tmp_path / str(n_workers)
        out.mkdir()
        request = Request(trained.detector, 1.0, all_candidates=True, documents=True)
        pictures = {path: out / f"{path.stem}.png" for path in trained.dicom}
        batch = Batch(request, out / "journal", pictures=pictures, n_workers=n_workers)
        found = batch.run((path, None) for path in paths)
        drawn = [picture.read_bytes() for picture in pictures.values()]
        lines = sorted((out / "journal").read_bytes().splitlines())
        results[n_workers] = (table(found), batch.bad, drawn, lines)
        assert [one.path for one in found] == list(trained.dicom)
        assert batch.n_worked == 3
    pd.testing.assert_frame_equal(results[1][0], results[2][0])
    assert results[1][1:] == results[2][1:]
    assert list(results[2][1]) == [bad, tmp_path / "missing.dcm"]


def test_an_image_whose_worker_died_is_tried_again_alone(images, tmp_path, monkeypatch):
    asked = []

    class Executor:
        def __init__(self, spec, limits, count):
            assert count == 2

        def work(self, tasks, *, alone=False):
            asked.append(([Path(task.path).name for task in tasks], alone))
            for task in reversed(tasks):
                dies = task.path.endswith(("i0001.dcm", "i0003.dcm")) and not (
                    alone and task.path.endswith("i0001.dcm")
                )
                if dies:
                    yield Outcome(task.image_id, fault=Fault("death", "the worker died"))
                else:
                    yield work_on(DetectionPipeline(Request(StandInDetector(), 1.0)), task)

        def close(self):
            asked.append("closed")

    monkeypatch.setattr(batches, "ProcessExecutor", Executor)
    batch = Batch(Request(StandInDetector(), 1.0), tmp_path / "journal", n_workers=2)
    found = batch.run((path, None) for path in images)
    assert [one.path.name for one in found] == ["i0000.dcm", "i0001.dcm", "i0002.dcm", "i0004.dcm"]
    assert batch.bad == {images[3]: f"{images[3]}: failed: the worker died"}
    assert asked[1:] == [(["i0001.dcm", "i0003.dcm"], True), "closed"]
