"""Figures of merit of whole curves, and inference for readers and cases."""
