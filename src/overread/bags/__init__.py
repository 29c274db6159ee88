"""Candidates and truth become bags; bags and soft labels work in scikit-learn."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
