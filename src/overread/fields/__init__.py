"""Any 2-D picture: its planes and region, a generic finder of blobs, and generic features of candidates."""

from overread.fields.blob_finder import BlobFinder
from overread.fields.field_image import FieldImage, read_field
from overread.fields.generic_features import GENERIC_FEATURES, extract_generic
from overread.fields.recipe import FieldRecipe

__all__ = ["GENERIC_FEATURES", "BlobFinder", "FieldImage", "FieldRecipe", "extract_generic", "read_field"]
