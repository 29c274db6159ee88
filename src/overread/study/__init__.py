"""A whole study from its folder: settings, stages, store, workers, detector.

Names are imported when they are asked for: a worker process needs few of them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
