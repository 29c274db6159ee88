"""Scores against truth: curves, operating points, intervals and comparisons.

Names are imported when they are asked for: commands show the defaults in their help, which needs no pandas.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
