"""Lets tests import what makes the pages, and what follows them."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "docs")]
