"""Files -> pixels on an isotropic grid in mm: the only package that opens image files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
