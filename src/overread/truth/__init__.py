"""From marks of several readers to objects with soft labels; reader statistics; hit rules.

Only the options are imported at once, because the commands' help shows them and needs no pandas.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
