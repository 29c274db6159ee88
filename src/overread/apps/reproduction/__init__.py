"""The paper's tables made again, beside the paper's numbers."""
