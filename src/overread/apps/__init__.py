"""A run beside the paper."""
