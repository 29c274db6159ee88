"""How files are read and written: whole or not at all, within caps, sealed, locked."""
