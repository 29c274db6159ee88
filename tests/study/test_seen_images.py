"""A detector tells the images it was trained on by what they show, and keeps nothing that names them."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.errors import ModelFileError
from overread.study._calibration import TrainingFingerprints

HASHES = st.lists(st.binary(min_size=4, max_size=4).map(lambda b: hashlib.sha256(b).hexdigest()), unique=True)


@given(HASHES, HASHES)
def test_just_the_images_that_were_given_are_known(mine, others):
    seen = TrainingFingerprints.of(mine)
    assert all(one in seen for one in mine)
    assert [one in seen for one in others] == [one in mine for one in others]
    assert None not in seen


@given(HASHES)
def test_the_order_does_not_matter_and_no_hash_is_kept(mine):
    seen = TrainingFingerprints.of(mine)
    assert seen == TrainingFingerprints.of(reversed(mine))
    kept = seen.salt + "".join(seen.fingerprints)
    assert not any(one[:16] in kept for one in mine)


def test_a_fingerprint_is_the_beginning_of_a_salted_hash():
    seen = TrainingFingerprints.of(["a" * 64])
    assert seen.salt == hashlib.sha256(b"a" * 64).hexdigest()
    assert seen.fingerprints == (hashlib.sha256(seen.salt.encode() + b"a" * 64).hexdigest()[:16],)


def test_two_detectors_have_no_fingerprint_in_common():
    both = hashlib.sha256(b"an image").hexdigest()
    first, second = (
        TrainingFingerprints.of([both, hashlib.sha256(other).hexdigest()]) for other in (b"1", b"2")
    )
    assert not set(first.fingerprints) & set(second.fingerprints)


@pytest.mark.parametrize(
    ("salt", "fingerprints"),
    [
        ("x" * 64, []),
        (None, []),
        ("0" * 64, ["0"]),
        ("0" * 64, [7]),
        ("0" * 64, ["1" * 16, "0" * 16]),
        ("0" * 64, ["1" * 16, "1" * 16]),
    ],
)
def test_what_nobody_wrote_is_refused(salt, fingerprints):
    with pytest.raises(ModelFileError, match="seen"):
        TrainingFingerprints(salt, tuple(fingerprints))
