"""Tables that pass between the stages: schemas, CSV and Parquet, problems with row and remedy."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
