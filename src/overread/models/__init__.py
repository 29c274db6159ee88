"""The soft multiple-instance model with its penalties, the baselines and crowd models; saving and export."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
