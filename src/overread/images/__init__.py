"""Files -> pixels on an isotropic grid in mm: the only place that opens an image file."""

from overread.images.radiograph import Radiograph

__all__ = ["Radiograph"]
