"""Field phantoms: colour pictures of a round field with vessels and bright and dark lesions, and their readers."""
