"""Protocols, registries and helpers for extensions: families, formats, finders, penalties, models, stages."""

import lazy_loader

# The names lie in the packages beside this module.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__package__, __file__)
