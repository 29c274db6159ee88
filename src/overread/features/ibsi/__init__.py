"""97 texture features of the Image Biomarker Standardisation Initiative on any two-dimensional array and mask.

Definitions and checks: ``docs/explanation/texture.md``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
