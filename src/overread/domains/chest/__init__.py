"""Radiograph -> lungs, ribs, clavicles, each with how far it can be trusted."""
