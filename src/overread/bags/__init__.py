"""Candidates grouped into labelled bags, and the tools that keep scikit-learn honest about them."""
