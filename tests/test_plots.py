"""Figures begin only where matplotlib is installed."""

from __future__ import annotations

import sys

import pytest

from overread.errors import MissingExtraError
from overread.plots import empty_figure


def test_a_missing_matplotlib_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"overread\[figures\]"):
        empty_figure(1, 1)
