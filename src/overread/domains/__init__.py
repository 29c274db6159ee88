"""What kind of image it is: how it is read, where to look, which candidates and features, which unit and words."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
