"""Marks of many readers -> ground-truth objects with soft labels; reader statistics; what hits what.

Only the options are imported at once: the commands show them in their help, which needs no pandas.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
