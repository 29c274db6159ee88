"""The soft multiple-instance model with L1."""
