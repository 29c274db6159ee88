"""From the marks of many radiologists to soft labels, a compact detector and an honest account of it.

The sub-packages are the stages, in the order in which data flows through them: ``marks``, ``truth``, ``images``,
``candidates``, ``features``, ``bags``, ``models``, ``froc``, ``simulate``, ``report``, ``study``, ``detection``,
``node``, ``cli``.
Nothing heavy is imported here; import the stage you need.
"""

__all__ = ["__version__"]

__version__ = "0.3.0.dev0"
"""Version of the package: the one place that has it."""
