"""Crowd models: the hidden label of each bag from the votes of readers whose skills are estimated with it."""
