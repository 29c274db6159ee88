"""Whatever an image does to the work on it, there is an outcome, and it quotes neither path nor header."""

import io
import warnings
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.domains import ImageTask
from overread.errors import FormatError, InvalidInputError, OverreadError
from overread.files import digest_of_file, to_json
from overread.study._pipeline import Versions
from overread.study.executors._worker import (
    Fault,
    Outcome,
    encode_frame,
    encode_outcome,
    place_of,
    read_frame,
    read_outcome,
    read_task,
    without_path,
    work_on,
)
from study_chain import Chain, tasks
from study_stand_in import spec

TASK = ImageTask("case 1", "/data/Mustermann Erika.dcm")


def failing(error):
    def pipeline(task):
        raise error

    return pipeline


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (InvalidInputError("/data/Mustermann Erika.dcm: is no image"), "image"),
        (FormatError("Mustermann Erika.dcm: is no image"), "image"),
        (OverreadError("Mustermann Erika is no image"), "failure"),
        (MemoryError(), "memory"),
        (ValueError("PatientName Mustermann^Erika"), "failure"),
        (RecursionError("Mustermann"), "failure"),
        (BaseException("Mustermann"), "failure"),
    ],
)
def test_a_fault_has_its_kind_and_names_nobody(error: BaseException, kind: str) -> None:
    outcome = work_on(failing(error), TASK)
    assert outcome.shard is None
    assert outcome.fault.kind == kind
    assert "Mustermann" not in outcome.fault.reason
    assert "/data" not in outcome.fault.reason
    assert "\n" not in outcome.fault.reason


def test_an_error_that_memory_caused_is_one_of_memory() -> None:
    def pipeline(task):
        try:
            raise MemoryError
        except MemoryError:
            raise InvalidInputError("the image is broken")  # noqa: B904

    assert work_on(pipeline, TASK).fault.kind == "memory"


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit])
def test_an_end_from_outside_is_let_through(end: type[BaseException]) -> None:
    with pytest.raises(end):
        work_on(failing(end()), TASK)


def test_warnings_that_quote_headers_are_not_shown(recwarn, chain: Chain) -> None:
    own = spec().build()

    def pipeline(task):
        warnings.warn("PatientName Mustermann", stacklevel=1)
        return own(task)

    assert work_on(pipeline, tasks(chain.study, 1)[0]).fault is None
    assert not list(recwarn)


def test_the_place_of_an_error_is_file_and_line() -> None:
    with pytest.raises(KeyError) as caught:
        failing(KeyError("Mustermann"))(TASK)
    assert place_of(caught.value).startswith("KeyError in test_result.py, line ")
    assert place_of(ValueError("x")) == "ValueError"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("/a/b/scan.png: bad", "the image: bad"),
        ("scan.png: bad\nsecond line", "the image: bad"),
        ("scan is bad", "the image is bad"),
        ("", ""),
        ("x" * 1000, "x" * 300),
    ],
)
def test_paths_are_taken_out(message: str, expected: str) -> None:
    assert without_path(message, "/a/b/scan.png") == expected


def test_short_names_are_no_names() -> None:
    assert without_path("a bad a", "a") == "a bad a"


def test_the_words_in_place_of_a_name_are_not_taken_for_one() -> None:
    assert without_path("/a/image.png: no image.png", "/a/image.png") == "the image: no the image"


def test_a_file_that_is_replaced_during_the_work_is_not_kept_under_the_old_digest(chain: Chain) -> None:
    task = replace(tasks(chain.study, 1)[0], sha256=digest_of_file(chain.study / "images/000.png"))
    assert work_on(spec().build(), task).fault is None
    outcome = work_on(spec().build(), replace(task, sha256="0" * 64))
    assert outcome.fault is not None
    assert (outcome.fault.kind, outcome.fault.reason) == ("failure", "the file was changed while it was read")


headers = st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text(), max_size=4)
frames = st.tuples(headers, st.binary(max_size=200))


@given(st.lists(frames, max_size=4))
def test_messages_come_one_after_the_other(sent):
    pipe = io.BytesIO(b"".join(encode_frame(*frame) for frame in sent))
    found = []
    while (frame := read_frame(pipe.read)) is not None:
        found.append(frame)
    assert found == sent


@given(frames, st.data())
def test_a_message_that_was_cut_is_none(frame, data):
    content = encode_frame(*frame)
    cut = data.draw(st.integers(0, len(content) - 1))
    assert read_frame(io.BytesIO(content[:cut]).read) is None


@pytest.mark.parametrize("mm_per_px", [None, (0.1, 0.3)])
def test_a_task_without_candidates(mm_per_px):
    task = ImageTask("ü", "/a b/c.png", mm_per_px)
    assert read_task(to_json(task)) == task
    assert read_task(to_json(task)).candidates is None


@pytest.mark.parametrize("n_rows", [0, 3])
def test_candidates_keep_values_and_types(n_rows):
    known = pd.DataFrame(
        {
            "candidate_id": pd.Series([f"0{row}" for row in range(n_rows)], dtype="str"),
            "x": pd.Series([0.1 * row for row in range(n_rows)], dtype="float64"),
        }
    )
    header, _ = read_frame(io.BytesIO(encode_frame(to_json(ImageTask("a", "b", None, known)))).read)
    again = read_task(header).candidates
    assert again["candidate_id"].dtype == "str"
    assert again.to_dict(orient="list") == known.to_dict(orient="list")


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome("a", shard=b"x", versions=Versions("1", "c", "f")),
        Outcome("a", fault=Fault("image", "why"), worker="somebody"),
    ],
)
def test_an_outcome_comes_back_whole(outcome):
    sent = io.BytesIO(encode_outcome(outcome))
    assert read_outcome(read_frame(sent.read)) == outcome
