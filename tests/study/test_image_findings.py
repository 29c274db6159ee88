"""Repeats, views, and patients with two ids are found; nothing is said of ordinary images."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from overread.images import DicomFacts, write_dicom, write_png16
from overread.marks import Spacings
from overread.study.intake._issues import DIRECTORY, FoundImage, find_findings, look_at_files


def image(image_id, patient, pixels="", **facts):
    found = FoundImage(f"{image_id}.dcm", (1.0, 1.0), (10, 10), DicomFacts(**facts), pixels or image_id)
    return image_id, patient, found


def kinds(*images):
    return [(finding.kind, finding.image_id, finding.other) for finding in find_findings(images)]


def test_ordinary_images_give_nothing():
    assert kinds(image("a", "p", view_position="PA", study="1"), image("b", "q", study="2")) == []


def test_repeats_name_the_first_and_say_where_the_patient_differs():
    found = find_findings([image("a", "p", "X"), image("b", "q", "X"), image("c", "p", "X")])
    assert [(one.image_id, one.other) for one in found] == [("b", "a"), ("c", "a")]
    assert "under another patient" in str(found[0])
    assert "under another patient" not in str(found[1])
    assert found[0].cure(Path("s")) == "overread init s --drop b, or all such: --drop duplicate"


def test_one_patient_under_two_ids():
    assert kinds(image("a", "p", study="1"), image("b", "q", study="1")) == [("patient", "b", "a")]
    named = {"name": "N", "birth_date": "19670412"}
    assert kinds(image("a", "p", **named), image("b", "q", **named)) == [("patient", "b", "a")]
    assert kinds(*[image(str(n), f"p{n}", **named) for n in range(6)]) == []
    (finding,) = find_findings([image("a", "p", study="1"), image("b", "q", study="1")])
    assert finding.cure(Path("s")).endswith("--same-patient a=b")


def test_views_and_text():
    _, _, turned = image("d", "p")
    odd = FoundImage(
        turned.path, turned.mm_per_px, turned.shape, turned.facts, "d", frontal=False, letters=30
    )
    found = kinds(
        image("a", "p", view_position="LL"), image("b", "p", view_position="AP"), image("c", "p", body_part="HAND"),
        ("d", "p", odd), image("e", "p", view_position="PA"),
    )  # fmt: skip
    assert [kind for kind, *_ in found] == ["lateral", "ap", "non-chest", "not-frontal", "text"]


def test_files_are_looked_at_once_and_an_index_is_no_damage(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 4000, (60, 80)).astype(np.uint16)
    write_dicom(tmp_path / "a.dcm", pixels, 0.5, patient_id="P", image_id="1")
    write_png16(tmp_path / "b.png", pixels)
    index = b"\0" * 128 + b"DICM" + b"\x02\x00\x02\x00UI\x14\x00" + b"1.2.840.10008.1.3.10"
    (tmp_path / "DICOMDIR").write_bytes(index)
    files = [tmp_path / name for name in ("a.dcm", "b.png", "DICOMDIR")]
    found, unreadable = look_at_files(files, tmp_path, Spacings((0.5, 0.5)))
    assert unreadable == {"DICOMDIR": DIRECTORY}
    assert found[0].fingerprint == found[1].fingerprint
    assert [one.path for one in found] == ["a.dcm", "b.png"]
