"""Answers of a network that was trained on inserted nodules (41 features).

What a unit looks at has no name: `docs/explanation/learned.md` shows for each what excites it most. The network is
`overread.features._learned`, its weights are made by `benchmarks.train_learned`.
"""

from __future__ import annotations

from overread.features._arrays import F32
from overread.features._family import Family, describe_features
from overread.features._learned import TRAINED_ON, cut_squares, load_network
from overread.features.context._context import Context

# As the shipped weights have; a test holds them together.
N_UNITS = 40

FEATURES = describe_features(
    "learned",
    "docs/explanation/learned.md; convolutional networks as features: Razavian et al. 2014, doi:10.1109/CVPRW.2014.131",
    [
        *(
            (f"unit_{unit:02d}", "1", f"max(0, unit {unit} of the network) on the squares around the candidate",
             f"response of unit {unit} of the trained network, which matches no named finding")
            for unit in range(N_UNITS)
        ),
        ("score", "1", "log-odds that the network gives: a weighted sum of all its units on the squares",
         "likeness to a nodule, as judged by the trained network"),
    ],
    symbols={
        "squares": "squares: 28 x 28 points 0.7, 1.4 and 2.8 mm apart, image without its trend over its deviation"
    },
    kind="learned",
)  # fmt: skip


def _compute(context: Context) -> F32:
    """Answers of the network at each candidate."""
    squares = cut_squares(context.maps.bands, context.column, context.row)
    return load_network().answer(squares)


FAMILY = Family(FEATURES, _compute, TRAINED_ON)
