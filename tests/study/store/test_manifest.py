"""Which images are done: what the journal tells counts, a half line does not."""

import json

import pytest

from overread.files import Journal, digest_of_bytes
from overread.study._store import Entry, Manifest, shard_file


def entry(image_id, shard=b"shard"):
    return Entry(image_id, "c", "f", digest_of_bytes(shard))


def add(folder, *image_ids):
    manifest = Manifest(folder)
    with manifest:
        for image_id in image_ids:
            manifest.add(entry(image_id), b"shard")
    return manifest


def test_what_was_added_is_known_without_an_end(folder):
    add(folder, "a", "b")
    again = Manifest(folder)
    assert list(again.entries.values()) == [entry("a"), entry("b")]
    assert all(again.is_whole(one) for one in again.entries.values())


def test_the_last_line_counts(folder):
    manifest = add(folder, "a")
    other = Entry("a", "c", "f2", fault_kind="image", reason="why")
    with manifest:
        manifest.add(other, None)
    assert Manifest(folder).entries == {"a": other}


def test_an_end_keeps_the_images_of_the_study_in_their_order(folder):
    manifest = add(folder, "b", "gone", "a")
    manifest.finish(["a", "b", "never worked on"])
    assert [one["image_id"] for one in json.loads(folder.path("manifest.json").read_text())["images"]] == [
        "a",
        "b",
    ]
    assert not folder.path("manifest.journal").exists()
    manifest.remove_strangers()
    assert {path.name for path in folder.path("shards").iterdir()} == {
        shard_file(name).removeprefix("shards/") for name in ("a", "b")
    }


@pytest.mark.parametrize("kept", range(1, 60, 7))
def test_a_line_that_was_cut_is_dropped(folder, kept):
    add(folder, "a", "b")
    journal = folder.path("manifest.journal")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]) + lines[-1][:kept])
    assert set(Manifest(folder).entries) == {"a"}
    add(folder, "c")
    assert set(Manifest(folder).entries) == {"a", "c"}


@pytest.mark.parametrize(
    "content", [b"", b"{}", b'{"images": 3}', b'{"images": [1, {"image_id": "x"}]}', b"\xff"]
)
def test_a_damaged_manifest_is_an_empty_one(folder, content):
    folder.path("manifest.json").write_bytes(content)
    assert Manifest(folder).entries == {}


def test_a_changed_or_absent_shard_is_not_whole(folder):
    manifest = add(folder, "a", "b")
    folder.path(shard_file("a")).write_bytes(b"other")
    folder.path(shard_file("b")).unlink()
    assert not any(manifest.is_whole(one) for one in manifest.entries.values())
    assert not manifest.is_whole(Entry("c", "c", "f"))


@pytest.mark.parametrize("image_id", ["../../etc/passwd", "a" * 5000, "", "a\0b", "\ud800"])
def test_an_id_is_no_part_of_a_file_s_name(image_id):
    name = shard_file(image_id)
    assert name.startswith("shards/")
    assert len(name) == len("shards/") + 32 + len(".parquet")


@pytest.mark.parametrize("image_id", [["a"], {"a": 1}, None, 5])
def test_an_entry_that_is_none_is_passed_over(folder, image_id):
    manifest = add(folder, "a")
    manifest.finish(["a"])
    whole = json.loads(folder.path("manifest.json").read_text())["images"]
    folder.path("manifest.json").write_text(
        json.dumps({"images": [{**whole[0], "image_id": image_id}, *whole]})
    )
    with Journal(folder.path("manifest.journal")) as journal:
        journal.add("a", {**whole[0], "image_id": image_id})
    assert Manifest(folder).entries == {"a": entry("a")}
