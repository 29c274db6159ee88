"""Candidate -> named numbers.

``_family`` says what a feature and a family are, ``families`` holds one file a family, ``context`` what several of
them look at, ``ibsi`` the standard texture features on any array. A kernel stands in the file of what it computes.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
