"""Candidate -> named numbers.

``_family`` defines features and families, ``families`` holds one file per family, ``context`` what several of them
look at, ``ibsi`` the standard texture features on any array. A kernel is in the file of the feature that it computes.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
