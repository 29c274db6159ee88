"""Readers without and with a detector: the two readings of a room compared."""
