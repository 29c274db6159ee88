"""Names of files in a study's folder that both who writes them and who looks for them must know."""

from __future__ import annotations

__all__ = ["KNOWN_NODULES_FILE", "SIMULATION_FILE"]

# Settings of a simulated study; a folder that has this file is one.
SIMULATION_FILE = "known/simulation.json"
# Every nodule that was put into its images, whether a reader marked it or not.
KNOWN_NODULES_FILE = "known/nodules.csv"
