"""The page of a study: records of its results, and what is drawn, cut and written from them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
