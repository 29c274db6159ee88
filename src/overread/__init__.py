"""From the marks of many radiologists to soft labels, a compact detector and an honest account of it.

Every public name is an attribute of this package and is imported when it is first used. `overread.plugins` holds what
extensions build on, `overread.errors` the exceptions; all other modules are private.
"""

import lazy_loader

__version__ = "0.3.0.dev0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
