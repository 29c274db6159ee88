"""Figures of merit of whole curves: one model, two models, readers x modalities, and how many cases they need."""
