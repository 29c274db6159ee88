"""Scores against truth: curves, operating points, intervals and comparisons."""
