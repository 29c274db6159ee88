"""From marks to ground-truth objects with soft labels; the one rule of what hits what; reader statistics."""
