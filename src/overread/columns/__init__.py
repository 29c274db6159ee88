"""Where the features of a fit are: in memory, in a file, or on a cluster; one protocol, `Columns`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
