"""Chest radiographs of patients who never were, with every structure known."""
