"""Features of a fit in memory, in a file or on a cluster, behind one protocol, `Columns`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
