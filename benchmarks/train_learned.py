"""Make the weights of the learned features again. Needs torch (requirements/training.txt), which the package does not.

    python -m benchmarks.train_learned ../shared/data/nih WORK [-o weights.npz] [--workers 2]

WORK gets the examples of each radiograph (`benchmarks.learned_examples`); what is there already is kept. The network
learns to tell the squares around inserted nodules, each with the share of readers expected to mark it, from those
around the finder's candidates on the same radiographs without nodules. Every eighth patient is held out; the share of
the readers' weight that is found there at 0.5, 1 and 2 false positives per image is what variants are compared by, so
that the benchmark need not be looked at. One seed, one thread: the same examples give the same weights on the same
processor.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.learned_examples import LOOKS, Examples, make_examples, read_examples
from benchmarks.normals import list_normals
from overread.features._learned import SIDE, LearnedNetwork
from overread.files import write_atomically
from overread.simulate._backgrounds import BackgroundFile

SEED = 11
HELD_OUT_EVERY = 8
# More backgrounds of the same kind did nothing in an early trial.
RADIOGRAPHS = 200
TARGETS = (0.5, 1.0, 2.0)
# Squares that the framework's answers are kept for.
REFERENCES = 12


@dataclass(frozen=True)
class Variant:
    """A network and its training.

    Parameters
    ----------
    channels
        Of the three convolutions.
    units
        Features.
    epochs, batch, rate, decay
        Passes over the nodules, size of a step's batch (half of it nodules), first rate of Adam, which falls to 0 as a
        cosine, and weight decay.
    memory
        Of the running mean of the weights, a step.
    """

    channels: tuple[int, int, int] = (16, 32, 48)
    units: int = 40
    epochs: int = 16
    batch: int = 256
    rate: float = 1e-3
    decay: float = 1e-3
    memory: float = 0.995


def make_network(variant: Variant) -> Any:
    """Make the network of `benchmarks.learned_network`, untrained."""
    from torch import nn

    first, second, third = variant.channels

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.trunk = nn.Sequential(
                nn.Conv2d(1, first, 5),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Conv2d(first, second, 3),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Conv2d(second, third, 3),
                nn.ReLU(),
            )
            self.units = nn.Linear(3 * third * 9, variant.units)
            self.score = nn.Linear(variant.units, 1)

        def before_cut(self, squares: Any) -> Any:
            n, bands, side, _ = squares.shape
            seen = self.trunk(squares.reshape(n * bands, 1, side, side))
            return self.units(seen.reshape(n, -1))

        def features(self, squares: Any) -> Any:
            return self.before_cut(squares).relu()

        def forward(self, squares: Any) -> Any:
            return self.score(self.features(squares))[:, 0]

    return Net()


def train(examples: Examples, variant: Variant, seed: int = SEED) -> Iterator[Any]:
    """Train a network and yield, after every epoch, the running mean of its weights.

    Half of every batch are nodules, half others; every batch is turned and mirrored at random.
    """
    import torch

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    random = np.random.default_rng(seed)
    nodules, others = np.flatnonzero(examples.diameter_mm > 0), np.flatnonzero(examples.diameter_mm == 0)
    # Channels last and half the precision: 2.5 times faster. The weights themselves keep theirs.
    net = make_network(variant).to(memory_format=torch.channels_last)
    averaging = torch.optim.swa_utils.get_ema_multi_avg_fn(variant.memory)
    mean = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=averaging)
    optimizer = torch.optim.AdamW(net.parameters(), lr=variant.rate, weight_decay=variant.decay)
    half = variant.batch // 2
    per_epoch = len(nodules) // half
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, variant.epochs * per_epoch)
    loss = torch.nn.BCEWithLogitsLoss()
    for _ in range(variant.epochs):
        for some in np.array_split(random.permutation(nodules)[: per_epoch * half], per_epoch):
            rows = np.concatenate([some, random.choice(others, half, replace=False)])
            squares = turn(examples.squares[rows].astype(np.float32), random)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                answers = net(torch.from_numpy(squares))
            error = loss(answers.float(), torch.from_numpy(examples.share[rows]))
            optimizer.zero_grad()
            error.backward()
            optimizer.step()
            schedule.step()
            mean.update_parameters(net)
        yield mean.module


def turn(squares: NDArray[np.float32], random: np.random.Generator) -> NDArray[np.float32]:
    """Turn and mirror a batch in one of eight ways."""
    squares = np.rot90(squares, int(random.integers(4)), axes=(2, 3))
    return np.ascontiguousarray(squares[..., ::-1] if random.random() < 0.5 else squares)


def score(net: Any, squares: NDArray[np.float16]) -> NDArray[np.float64]:
    """Score squares, some at a time."""
    import torch

    with torch.no_grad():
        parts = [
            net(torch.from_numpy(squares[start : start + 1000].astype(np.float32))).numpy()
            for start in range(0, len(squares), 1000)
        ]
    return np.concatenate(parts).astype(np.float64)


def find_shares(
    scores: NDArray[np.float64], examples: Examples, n_images: int, below_mm: float
) -> list[float]:
    """Share of the readers' weight above the thresholds of `TARGETS`, of nodules below a diameter."""
    others = np.sort(scores[examples.diameter_mm == 0])[::-1]
    chosen = (examples.diameter_mm > 0) & (examples.diameter_mm < below_mm)
    weight = examples.share[chosen]
    return [
        float(weight[scores[chosen] > others[int(target * n_images * LOOKS)]].sum() / weight.sum())
        for target in TARGETS
    ]


def to_arrays(net: Any) -> dict[str, NDArray[np.float16]]:
    """Give the weights as `LearnedNetwork.from_arrays` takes them."""
    arrays: dict[str, Any] = {}
    convolutions = [net.trunk[0], net.trunk[3], net.trunk[6]]
    for number, layer in enumerate(convolutions, 1):
        arrays[f"kernel_{number}"] = layer.weight.detach().numpy().transpose(2, 3, 1, 0)
        arrays[f"offset_{number}"] = layer.bias.detach().numpy()
    units = net.units.weight.detach().numpy()
    bands = units.reshape(len(units), 3, convolutions[2].out_channels, 3, 3)
    arrays["unit_weights"] = bands.transpose(1, 3, 4, 2, 0)
    arrays["unit_offsets"] = net.units.bias.detach().numpy()
    arrays["score_weights"] = net.score.weight.detach().numpy()[0]
    arrays["score_offset"] = net.score.bias.detach().numpy()[0]
    return {name: np.asarray(values, dtype=np.float16) for name, values in arrays.items()}


def read_network(place: Path) -> Any:
    """Make the network of the framework from stored weights."""
    import torch

    with np.load(place, allow_pickle=False) as stored:
        arrays = {name: torch.from_numpy(stored[name].astype(np.float32)) for name in stored}
    channels = (len(arrays["offset_1"]), len(arrays["offset_2"]), len(arrays["offset_3"]))
    n_units = len(arrays["unit_offsets"])
    net = make_network(Variant(channels=channels, units=n_units))
    with torch.no_grad():
        for number, layer in enumerate([net.trunk[0], net.trunk[3], net.trunk[6]], 1):
            layer.weight.copy_(arrays[f"kernel_{number}"].permute(3, 2, 0, 1))
            layer.bias.copy_(arrays[f"offset_{number}"])
        net.units.weight.copy_(arrays["unit_weights"].permute(4, 0, 3, 1, 2).reshape(n_units, -1))
        net.units.bias.copy_(arrays["unit_offsets"])
        net.score.weight.copy_(arrays["score_weights"][None])
        net.score.bias.copy_(arrays["score_offset"].reshape(1))
    return net


def make_reference(net: Any, seed: int = SEED) -> dict[str, NDArray[np.float32]]:
    """Squares of noise and spots, and what the framework answers with the weights that are kept.

    The package's own test compares its kernel with these, without the framework.
    """
    import torch

    random = np.random.default_rng(seed)
    y, x = np.mgrid[:SIDE, :SIDE] - (SIDE - 1) / 2
    width = random.uniform(1.0, 8.0, (REFERENCES, 1, 1, 1)) / np.array([1.0, 2.0, 4.0])[:, None, None]
    spots = random.uniform(0.0, 4.0, (REFERENCES, 1, 1, 1)) * np.exp(-(x * x + y * y) / (2 * width**2))
    squares = (spots + random.normal(size=spots.shape)).astype(np.float32)
    with torch.no_grad():
        for weights in net.parameters():
            weights.copy_(weights.half().float())
        seen = torch.from_numpy(squares)
        answers = torch.cat([net.features(seen), net(seen)[:, None]], dim=1).numpy()
    return {"squares": squares, "answers": answers}


def save(arrays: dict[str, NDArray[Any]], path: Path) -> None:
    """Write arrays, whole or not at all."""
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    write_atomically(path, content.getvalue())


def divide(files: list[BackgroundFile], places: list[Path]) -> tuple[list[Path], list[Path]]:
    """Places of the examples to train on, and of those held out: every eighth patient."""
    patients = sorted({file.patient_id for file in files}, key=int)
    held_out = set(patients[HELD_OUT_EVERY - 1 :: HELD_OUT_EVERY])
    inside = [file.patient_id in held_out for file in files]
    return (
        [place for place, held in zip(places, inside, strict=True) if not held],
        [place for place, held in zip(places, inside, strict=True) if held],
    )


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("weights.npz"))
    parser.add_argument(
        "--reference", type=Path, help="where to keep answers of the framework, for the tests"
    )
    parser.add_argument("--radiographs", type=int, default=RADIOGRAPHS, help="one of each patient")
    parser.add_argument("--epochs", type=int, default=Variant.epochs)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    files = list_normals(given.folder, per_patient=1)[: given.radiographs]
    places = [given.work / f"{file.path.stem}.npz" for file in files]
    with ProcessPoolExecutor(given.workers) as pool:
        list(pool.map(make_examples, files, places))
    inside, outside = divide(files, places)
    examples, held_out = read_examples(inside), read_examples(outside)
    for number, net in enumerate(train(examples, Variant(epochs=given.epochs)), 1):
        scores = score(net, held_out.squares)
        found = find_shares(scores, held_out, len(outside), below_mm=np.inf)
        small = find_shares(scores, held_out, len(outside), below_mm=10.0)
        print(f"epoch {number}: all {np.round(found, 3)}, below 10 mm {np.round(small, 3)}", flush=True)
        save(to_arrays(net), given.output)
    reference = make_reference(net)
    found_answers = LearnedNetwork.from_arrays(to_arrays(net)).answer(reference["squares"])
    print(f"kernel minus framework: at most {np.abs(found_answers - reference['answers']).max():.1e}")
    if given.reference is not None:
        save(reference, given.reference)


if __name__ == "__main__":
    main()
