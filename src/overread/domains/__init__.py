"""Any 2-D picture: its planes and region, a generic finder of blobs, and generic features of candidates."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
