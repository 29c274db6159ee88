"""One image under a request: the same in this process and in one that was told of it in plain values."""

import json
from dataclasses import replace

import pytest

from overread.domains import ImageTask
from overread.errors import ImageError
from overread.images import read_image
from overread.study import DetectionPipeline, PipelineSpec, Request, detect_image, read_work
from overread.study._calibration import TrainingFingerprints
from stand_in_detector import StandInDetector, write_images


def test_one_image(tmp_path):
    image = write_images(tmp_path / "in", 1)[0]
    radiograph, candidates, report = detect_image(
        Request(StandInDetector(), 1.0, documents=True), image, None
    )
    assert radiograph.mm_per_px == 0.7
    assert candidates["shown"].tolist() == [True, False]
    assert report is not None
    assert report.marks["mark_id"].tolist() == ["0001"]
    assert report.marks["rank"].tolist() == [1]
    with pytest.raises(ImageError):
        detect_image(Request(StandInDetector(), 1.0), image.parent, None)


def test_what_plain_values_build_gives_the_same_bytes(trained):
    seen = TrainingFingerprints.of([str(read_image(trained.dicom[0]).pixel_hash)])
    request = Request(replace(trained.detector, seen=seen), 2.0, all_candidates=True, documents=True)
    here = DetectionPipeline(request)
    told = json.loads(json.dumps(here.spec().plain()))
    there = PipelineSpec(**told).build()
    known = []
    for path in trained.dicom[:2]:
        task = ImageTask(str(path), str(path))
        assert there(task) == here(task)
        found, picture = read_work(there(task))
        assert picture == b""
        known.append(found["in_training"])
    assert known == [True, False]


def test_only_what_matters_to_the_results_is_in_the_digest():
    request = Request(StandInDetector(), 1.0)
    assert request.digest() == Request(StandInDetector(), 1.0, n_threads=1).digest()
    assert request.digest() != Request(StandInDetector(), 2.0).digest()
