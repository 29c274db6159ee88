"""Cohorts with known truth: phantoms or real backgrounds, nodules, and readers who disagree."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
