"""The learned network: what it looks at, its weights, and how it answers."""
