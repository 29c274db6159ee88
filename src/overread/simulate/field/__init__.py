"""Field phantoms: colour pictures of a round field with vessels and bright and dark lesions, and their readers."""

from overread.simulate.field.field_phantom import FieldPhantom, field_phantom
from overread.simulate.field.recipe import FieldLaw, FieldRecipe

__all__ = ["FieldLaw", "FieldPhantom", "FieldRecipe", "field_phantom"]
