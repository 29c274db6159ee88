"""Text in a corner is told from a side marker."""

from __future__ import annotations

import cv2
import numpy as np

from overread.images import MOST_LETTERS, count_letters


def picture(*texts):
    made = np.full((800, 700), 40, np.uint8)
    made[200:600, 150:550] = 180
    for text, place in texts:
        cv2.putText(made, text, place, cv2.FONT_HERSHEY_SIMPLEX, 0.6, 255, 2)
    return made


def test_names_and_dates_are_many_letters_and_a_side_marker_is_few():
    assert count_letters(picture()) == 0
    assert 0 < count_letters(picture(("L", (20, 40)))) <= MOST_LETTERS
    assert count_letters(picture(("MUSTER 1967", (10, 40)))) > MOST_LETTERS
    assert count_letters(picture(("MUSTER 1967", (530, 780)))) > MOST_LETTERS
