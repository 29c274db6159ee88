"""Messages come out as they went in, however the pipe cuts them; a cut message is none."""

import io

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.domains import ImageTask
from overread.files import to_json
from overread.study._pipeline import Versions
from overread.study.executors._outcome import (
    Fault,
    Frame,
    Outcome,
    encode_frame,
    frame_outcome,
    read_frame,
    read_outcome,
    read_task,
)

headers = st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text(), max_size=4)
frames = st.builds(Frame, headers, st.binary(max_size=200))


@given(st.lists(frames, max_size=4))
def test_messages_come_one_after_the_other(sent):
    pipe = io.BytesIO(b"".join(encode_frame(frame) for frame in sent))
    found = []
    while (frame := read_frame(pipe.read)) is not None:
        found.append(frame)
    assert found == sent


@given(frames, st.data())
def test_a_message_that_was_cut_is_none(frame, data):
    content = encode_frame(frame)
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
    frame = Frame(to_json(ImageTask("a", "b", None, known)))
    back = read_frame(io.BytesIO(encode_frame(frame)).read)
    again = read_task(back.header).candidates
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
    sent = io.BytesIO(encode_frame(frame_outcome(outcome)))
    assert read_outcome(read_frame(sent.read)) == outcome
