"""Every reader gets damaged and forged files; it gives a value or an error of ours. `make fuzz` goes on for longer."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import pytest
from targets import TARGETS

from run import CORPUS, damaged, fuzz_once, sealed_again


def test_a_dozen_damaged_files_for_each_reader_and_all_of_the_corpus():
    corpus = json.loads(CORPUS.read_text())
    assert corpus.keys() <= TARGETS.keys()
    jobs = {name: [*corpus.get(name, []), *range(12)] for name in TARGETS}
    counts, wrong = fuzz_once(jobs)
    assert wrong == []
    assert {name: found.total() for name, found in counts.items()} == {name: len(jobs[name]) for name in jobs}


@pytest.mark.parametrize("name", ["forged model", "forged lock"])
def test_a_forged_file_has_a_right_checksum(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    target = TARGETS[name]
    (seed,) = target.seeds()
    assert sealed_again(seed, target.seal) == seed
    changed = seed.replace(b"0.", b"1.", 1)
    assert target.seal.broken_key(json.loads(changed)) == target.seal.digest_key
    assert target.seal.broken_key(json.loads(sealed_again(changed, target.seal))) is None


def test_the_same_number_gives_the_same_file():
    target = TARGETS["coco"]
    assert damaged(target, 5, target.seeds()) == damaged(target, 5, target.seeds())
