"""How many images, lesions or readers a study needs, by a finished run, by assumptions or by a pilot."""
