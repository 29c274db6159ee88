"""A small scenario without pixels, for the tests of its modules."""

from typing import Any

from overread.apps.scenario._design import Design


def small_design(**changes: dict[str, Any] | Any) -> Design:
    """A design of seconds; a dict changes keys of its section."""
    raw: dict[str, Any] = {
        "seeds": 2,
        "source": {"cohort": 160, "test": 80, "features": 6, "informative": 4},
        "readers": {"pool": 4, "false_marks": 0.3, "lookalikes": 0.4, "test_readings": 4},
        "grid": {"images": [40, 80], "readings": [1, 2, 4]},
        "fit": {"models": ["soft", "golden", "any"], "folds": 2, "n_lambdas": 3, "n_bootstrap": 30},
    }
    for name, value in changes.items():
        raw[name] = {**raw[name], **value} if isinstance(value, dict) else value
    return Design.model_validate(raw)
