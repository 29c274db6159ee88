"""Chest radiographs of simulated patients, with every structure known."""
