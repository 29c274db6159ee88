"""Files -> pixels on an isotropic grid in mm: the only place that opens an image file."""

from overread.images.colour import fingerprint_channels, read_channels, sketch_channels
from overread.images.gridding import from_array
from overread.images.radiograph import GRID_MM, Radiograph, SpacingSource
from overread.images.reading import display_image, pixel_fingerprint, read_image, read_source
from overread.images.viewing import ViewedImage, read_for_viewing
from overread.images.writing import write_dicom, write_png16, write_png_colour

__all__ = [
    "GRID_MM",
    "Radiograph",
    "SpacingSource",
    "ViewedImage",
    "display_image",
    "fingerprint_channels",
    "from_array",
    "pixel_fingerprint",
    "read_channels",
    "read_for_viewing",
    "read_image",
    "read_source",
    "sketch_channels",
    "write_dicom",
    "write_png16",
    "write_png_colour",
]
