"""How files are read and written: whole or not at all, within caps, sealed, locked."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
