"""Draw what excites each unit of the learned network most. Needs torch, as `benchmarks.train_learned` does.

    python -m benchmarks.learned_pictures weights.npz [-o learned_units.png]

A picture is the square of each band, of unit deviation, that climbs to the largest answer of a unit from a faint spot.
No radiograph is in it. What a unit answers on a radiograph is more mixed: the pictures show the best case.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.train_learned import read_network
from overread._plots import empty_figure, save_figure
from overread.features._learned import RESOLUTIONS_MM, SIDE

SEED = 5
STEPS = 200
RATE = 0.1
# Deviation of a square, and what its roughness (squared differences of neighbours) costs: enough that single points do
# not dominate. Set by judgement.
DEVIATION = 1.0
ROUGHNESS = 6.0
UNITS_PER_ROW = 8


def climb(network: Any, n_units: int) -> NDArray[np.float32]:
    """Climb from a faint spot to the squares that each unit answers to most: (unit, band, side, side)."""
    import torch

    torch.manual_seed(SEED)
    y, x = np.mgrid[:SIDE, :SIDE] - (SIDE - 1) / 2
    spot = torch.from_numpy(np.exp(-(x * x + y * y) / 50.0).astype(np.float32))
    squares = (spot + 0.1 * torch.randn(n_units, len(RESOLUTIONS_MM), SIDE, SIDE)).requires_grad_()
    optimizer = torch.optim.Adam([squares], lr=RATE)
    for _ in range(STEPS):
        seen = scale_to_unit(squares)
        rough = seen.diff(dim=2).square().mean() + seen.diff(dim=3).square().mean()
        # The logarithm, because units differ thirtyfold in how strongly they answer.
        answers = torch.nn.functional.softplus(network.before_cut(seen).diagonal()).log()
        loss = -answers.mean() + ROUGHNESS * rough
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return np.asarray(scale_to_unit(squares).detach().numpy())


def scale_to_unit(squares: Any) -> Any:
    """Give each square no mean and its deviation."""
    middle = squares - squares.mean(dim=(2, 3), keepdim=True)
    return DEVIATION * middle / (middle.std(dim=(2, 3), keepdim=True) + 1e-6)


def draw(squares: NDArray[np.float32], answers: NDArray[np.float32], weights: NDArray[np.float32]) -> Any:
    """Draw the three squares of every unit in a row, with its weight in the network's own score."""
    rows = -(-len(squares) // UNITS_PER_ROW)
    figure = empty_figure(11.0, 0.75 * rows + 0.3)
    grid = figure.add_gridspec(rows, UNITS_PER_ROW, hspace=0.45, wspace=0.08)
    for unit, (bands, answer, weight) in enumerate(zip(squares, answers, weights, strict=True)):
        axes = figure.add_subplot(grid[divmod(unit, UNITS_PER_ROW)])
        axes.imshow(
            np.hstack([np.pad(band, 1, constant_values=3.0) for band in bands]), cmap="gray", vmin=-3, vmax=3
        )
        axes.set_title(f"{unit}: {answer:.1f}, {weight:+.2f}", fontsize=7, pad=2)
        axes.axis("off")
    return figure


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("weights", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("learned_units.png"))
    given = parser.parse_args()
    network = read_network(given.weights)
    squares = climb(network, network.units.out_features)
    import torch

    with torch.no_grad():
        answers = network.before_cut(torch.from_numpy(squares)).diagonal().numpy()
    save_figure(draw(squares, answers, network.score.weight.detach().numpy()[0]), given.output)


if __name__ == "__main__":
    main()
