"""What families look at around the candidates of a radiograph, each thing measured once."""

from overread.features.context.context import Context
from overread.features.context.maps import ImageMaps

__all__ = ["Context", "ImageMaps"]
