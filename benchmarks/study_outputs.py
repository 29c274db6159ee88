"""Everything that five fixed studies give, kept as it is, and two such keepings compared.

``python -m benchmarks.study_outputs make OUT`` runs the studies and copies what they give to ``OUT/NAME-frozen``;
``python -m benchmarks.study_outputs compare BEFORE AFTER`` says what differs, and ends with exit code 1 if anything
does. Only the command ``overread`` and plain files are used, so that the same script runs before and after a change
of the package's inside.

- ``demo``: the study of ``overread demo``.
- ``own_tables``: a study that brings its own candidates and features.
- ``quarantine``: a simulated study, three of whose images are damaged after ``overread init``.
- ``picture``: simulated colour pictures, measured in pixels.
- ``masks``: the same pictures, searched only inside mask files.

After each study that has images its detector is applied to a few of them by ``overread detect``.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image

COMMAND = "import sys; from overread.cli import main; sys.exit(main())"
# The law of the demo, so that few images have enough golden objects.
SIMULATION = """
import sys
from overread import CaseDistribution, NoduleDistribution, cohort
law = CaseDistribution(nodules=NoduleDistribution(counts=(0.2, 0.2, 0.3, 0.3), conspicuity=(1.2, 4.0)), distractors=0.6)
cohort(sys.argv[1], n_images=45, law=law, seed=11, format="dicom", workers=1)
"""
LIGHT = """\
[models]
folds = 2

[soft]
normalizations = ["class"]
n_lambdas = 20
min_ratio = 0.05

[b1]
prune_bounds = [100.0]

[b2]
prune_bounds = [100.0]
n_bootstrap = 50
{b2}
[evaluation]
n_bootstrap = 500
"""
OWN_TABLES = """\
seed = 3

[inputs]
candidates = "candidates.parquet"
features = "features.parquet"

""" + LIGHT.format(b2="")
QUARANTINE = """\
seed = 5

[candidates]
limit = 20

[features]
only = ["shape.*", "blob*", "convergence*", "profile*", "template*", "first_order_*.original"]

""" + LIGHT.format(b2="min_positives = 4\n")
PICTURE = """\
seed = 4

[units]
unit = "px"

[region]
kind = "{kind}"
{images}
[candidates]
limit = 15

""" + LIGHT.replace("{b2}", "min_positives = 4\n")
KEPT = (
    "tables/*.parquet",
    "models/*.json",
    "operating_points.json",
    "choice.json",
    "tuning_*.json",
    "results.json",
    "detector.json",
    "settings.json",
    "report.html",
)
# Fields that name an entry of a list, so that entries are compared by what they are and not by their place.
NAMING = (
    "name",
    "model",
    "image_id",
    "reader_id",
    "first_reader",
    "second_reader",
    "first_model",
    "second_model",
    "source",
    "single_reader",
    "measure",
    "figure",
    "fp_target",
    "stratum",
    "normalization",
    "lam",
)
KEYS = (("image_id", "candidate_id"), ("image_id", "truth_id"), ("image_id", "mark_id"), ("image_id",))
CLOSE = 1e-12
SHOWN = 12
SIZE_MM = 350.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    made = commands.add_parser("make", help="run the studies and keep what they give")
    made.add_argument("out", type=Path)
    made.add_argument("--only", choices=list(STUDIES), nargs="+", default=list(STUDIES))
    compared = commands.add_parser("compare", help="say what differs between two keepings")
    compared.add_argument("before", type=Path)
    compared.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.command == "make":
        make(given.out.resolve(), given.only)
    else:
        sys.exit(compare(given.before, given.after))


# Making


def make(out: Path, only: Iterable[str]) -> None:
    """Run the studies in ``out``; a study that is there already is made again."""
    for name in only:
        study, frozen = out / name, out / f"{name}-frozen"
        for folder in (study, frozen):
            shutil.rmtree(folder, ignore_errors=True)
        frozen.mkdir(parents=True)
        started = time.monotonic()
        terminal = Terminal(out)
        code = STUDIES[name](study, terminal)
        run = study / "runs" / "main"
        for pattern in KEPT:
            for path in sorted(run.glob(pattern)):
                target = frozen / path.relative_to(run)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
        apply_detector(study, frozen, terminal)
        (frozen / "exit_code.txt").write_text(f"{code}\n")
        (frozen / "terminal.txt").write_text("\n".join(terminal.said))
        print(f"{name}: exit code {code}, {time.monotonic() - started:.1f} s, {frozen}", flush=True)


def apply_detector(study: Path, frozen: Path, terminal: Terminal) -> None:
    """Detect on the first three images of a study that has images, and keep the tables."""
    files = sorted((study / "images").glob("*"))[:3]
    if not files:
        return
    few, found = study / "few", study / "found"
    few.mkdir()
    for path in files:
        shutil.copyfile(path, few / path.name)
    masks = ["--masks", str(study / "masks")] if (study / "masks").exists() else []
    detector = study / "runs" / "main" / "detector.json"
    terminal.overread("detect", str(detector), str(few), "-o", str(found), *masks)
    for path in sorted(found.glob("*.csv")):
        (frozen / path.name).write_text(path.read_text("utf-8").replace(str(terminal.out), "OUT"), "utf-8")


@dataclass
class Terminal:
    """Runs commands and keeps what they say, without the place of the studies."""

    out: Path
    said: list[str] = field(default_factory=list)

    def overread(self, *arguments: str) -> int:
        """Run the command ``overread``; return its exit code."""
        return self.python(COMMAND, *arguments)

    def python(self, code: str, *arguments: str) -> int:
        """Run Python code; return its exit code."""
        environment = {**os.environ, "COLUMNS": "140", "TERM": "dumb", "NO_COLOR": "1"}
        process = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
        )
        name = "overread" if code == COMMAND else "python"
        self.said += [
            f"$ {name} {' '.join(arguments)}",
            process.stdout,
            f"exit code {process.returncode}",
            "",
        ]
        self.said = [text.replace(str(self.out), "OUT") for text in self.said]
        return process.returncode


def demo(study: Path, terminal: Terminal) -> int:
    """Run ``overread demo`` with its defaults."""
    return terminal.overread("demo", "-o", str(study), "--seed", "0")


def own_tables(study: Path, terminal: Terminal) -> int:
    """Run a study that brings its own candidates and features."""
    write_tables(study, n_images=150, n_candidates=20, n_features=60, lesions=0.9, readings=(3, 6), seed=21)
    (study / "study.toml").write_text(OWN_TABLES)
    terminal.overread("check", str(study))
    return terminal.overread("run", str(study))


def quarantine(study: Path, terminal: Terminal) -> int:
    """Run a study with a truncated image, one that is text, and an empty one."""
    terminal.python(SIMULATION, str(study))
    (study / "study.toml").write_text(QUARANTINE)
    terminal.overread("init", str(study))
    files = sorted((study / "images").iterdir())
    truncated, text, empty = files[4], files[17], files[30]
    truncated.write_bytes(truncated.read_bytes()[: truncated.stat().st_size // 3])
    text.write_text("This is not an image.\n" * 50)
    empty.write_bytes(b"")
    terminal.overread("check", str(study))
    return terminal.overread("run", str(study))


def picture(study: Path, terminal: Terminal) -> int:
    """Run a study of colour pictures."""
    return run_pictures(study, terminal, PICTURE.format(kind="field_of_view", images=""))


def masks(study: Path, terminal: Terminal) -> int:
    """Run the same study with the upper half of each picture masked out."""
    return run_pictures(study, terminal, PICTURE.format(kind="masks", images='\n[images]\nmasks = "masks"\n'))


def run_pictures(study: Path, terminal: Terminal, settings: str) -> int:
    """Simulate pictures, write settings and masks, and run."""
    terminal.overread("simulate", str(study), "--kind", "field", "--n-images", "40", "--seed", "4")
    (study / "study.toml").write_text(settings)
    (study / "masks").mkdir()
    for path in sorted((study / "images").glob("*.png")):
        size = Image.open(path).size
        mask = np.zeros(size[::-1], dtype=np.uint8)
        mask[size[1] // 3 :] = 255
        Image.fromarray(mask).save(study / "masks" / path.name)
    if "masks = " not in settings:
        shutil.rmtree(study / "masks")
    terminal.overread("check", str(study))
    return terminal.overread("run", str(study))


STUDIES: dict[str, Callable[[Path, Terminal], int]] = {
    "demo": demo,
    "own_tables": own_tables,
    "quarantine": quarantine,
    "picture": picture,
    "masks": masks,
}


def write_tables(
    study: Path,
    *,
    n_images: int,
    n_candidates: int,
    n_features: int,
    lesions: float,
    readings: tuple[int, int],
    n_readers: int = 8,
    n_informative: int = 12,
    seed: int,
) -> None:
    """Write images, readings, marks, candidates and features of a study without pixels.

    Parameters
    ----------
    study
        Folder to make.
    n_images, n_candidates, n_features
        Images, candidates of each (the first ones on objects), and features of each candidate.
    lesions
        Mean number of lesions of an image; look-alikes, which few readers mark, are half as many.
    readings
        Fewest and most readings of an image.
    n_readers
        Readers that these are drawn from.
    n_informative
        Features that follow what a candidate lies on.
    seed
        Source of everything random.
    """
    random = np.random.default_rng(seed)
    study.mkdir(parents=True)
    image_ids = [f"image-{number:05d}" for number in range(n_images)]
    # Every fifth patient has two images.
    patients = np.cumsum([number % 6 != 5 for number in range(n_images)])
    images = pd.DataFrame({"image_id": image_ids, "patient_id": [f"patient {number}" for number in patients]})
    images.to_csv(study / "images.csv", index=False)
    readers = [f"reader {chr(ord('a') + number)}" for number in range(n_readers)]
    panels = [
        sorted(random.choice(n_readers, random.integers(readings[0], readings[1] + 1), replace=False))
        for _ in image_ids
    ]
    rows = [
        (image, readers[reader]) for image, panel in zip(image_ids, panels, strict=True) for reader in panel
    ]
    pd.DataFrame(rows, columns=["image_id", "reader_id"]).to_csv(study / "readings.csv", index=False)
    skill = random.uniform(0.75, 0.97, n_readers)
    marks: list[tuple[Any, ...]] = []
    places = np.empty((n_images, n_candidates, 3))
    latent = random.normal(-0.5, 0.5, (n_images, n_candidates))
    for row, (image, panel) in enumerate(zip(image_ids, panels, strict=True)):
        n_lesions = random.poisson(lesions)
        n_objects = n_lesions + random.poisson(lesions / 2)
        centres = random.uniform(0.12, 0.88, (n_objects, 2)) * SIZE_MM
        radii = np.exp(random.uniform(np.log(4), np.log(14), n_objects))
        for number, ((x, y), radius) in enumerate(zip(centres, radii, strict=True)):
            seen = skill if number < n_lesions else np.full(n_readers, 0.12)
            for reader in panel:
                if random.uniform() < seen[reader]:
                    shift = random.normal(0, 0.12 * radius, 2)
                    axes = np.sort(radius * np.exp(random.normal(0, 0.12, 2)))[::-1]
                    angle = random.uniform(0, 180)
                    marks.append((image, readers[reader], x + shift[0], y + shift[1], *axes, angle))
        places[row, :, :2] = random.uniform(0.05, 0.95, (n_candidates, 2)) * SIZE_MM
        places[row, :, 2] = np.exp(random.uniform(np.log(3), np.log(12), n_candidates))
        # Up to two candidates on an object; one in twelve objects has none.
        slot = 0
        for number in range(n_objects):
            for _ in range(0 if random.uniform() < 1 / 12 else random.integers(1, 3)):
                if slot < n_candidates:
                    shift = random.normal(0, 0.3 * radii[number], 2)
                    places[row, slot] = (*(centres[number] + shift), radii[number])
                    latent[row, slot] = random.normal(1.3 if number < n_lesions else 0.3, 0.45)
                    slot += 1
    columns = ["image_id", "reader_id", "x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]
    table = pd.DataFrame(marks, columns=columns)
    table.insert(2, "mark_id", [f"m{number:06d}" for number in range(len(table))])
    table.round(3).to_csv(study / "marks.csv", index=False)
    keys = pd.DataFrame(
        {
            "image_id": np.repeat(np.array(image_ids, dtype=object), n_candidates),
            "candidate_id": [f"c{number:03d}" for _ in image_ids for number in range(n_candidates)],
        }
    )
    flat = places.reshape(-1, 3)
    response = latent.ravel() + random.normal(0, 0.8, latent.size)
    candidates = keys.assign(x_mm=flat[:, 0], y_mm=flat[:, 1], radius_mm=flat[:, 2], response=response)
    candidates.to_parquet(study / "candidates.parquet", index=False)
    write_features(study / "features.parquet", keys, latent.ravel(), n_features, n_informative, random)


def write_features(
    path: Path,
    keys: pd.DataFrame,
    latent: NDArray[np.float64],
    n_features: int,
    n_informative: int,
    random: np.random.Generator,
) -> None:
    """Write float32 features: correlated noise, plus the latent in the informative ones."""
    factors = random.normal(size=(len(keys), 6)).astype(np.float32)
    mixing = random.normal(0, 0.5, (6, n_features)).astype(np.float32)
    values = random.standard_normal((len(keys), n_features), dtype=np.float32)
    values += factors @ mixing
    strength = random.uniform(0.5, 1.2, n_informative).astype(np.float32)
    values[:, :n_informative] += latent.astype(np.float32)[:, None] * strength
    names = [f"feature_{number:04d}" for number in range(n_features)]
    table = pd.concat([keys, pd.DataFrame(values, columns=names, copy=False)], axis=1)
    table.to_parquet(path, index=False)


# Comparing


@dataclass
class Findings:
    """What differs, counted by how much it does."""

    counts: Counter[str] = field(default_factory=Counter)

    def say(self, kind: str, text: str, n: int = 1) -> None:
        """Print a difference and count it."""
        self.counts[kind] += n
        print(f"  [{kind}] {text}")


def compare(before: Path, after: Path) -> int:
    """Compare all studies that either side has; return the exit code."""
    found = Findings()
    names = sorted({path.name for side in (before, after) for path in side.glob("*-frozen") if path.is_dir()})
    if not names:
        sys.exit(f"{before}, {after}: nothing kept there; first: make OUT")
    for name in names:
        print(f"\n== {name.removesuffix('-frozen')}")
        if not (before / name).is_dir() or not (after / name).is_dir():
            found.say("missing study", f"only in {before if (before / name).is_dir() else after}")
            continue
        compare_study(before / name, after / name, found)
    print("\n== all")
    if not found.counts:
        print("  no difference")
        return 0
    for kind, count in found.counts.most_common():
        print(f"  {count:6d}  {kind}")
    return 1


def compare_study(before: Path, after: Path, found: Findings) -> None:
    """Compare every file of a study."""
    files = [
        {path.relative_to(side).as_posix() for path in side.rglob("*") if path.is_file()}
        for side in (before, after)
    ]
    for name in sorted(files[0] - files[1]):
        found.say("file disappeared", name)
    for name in sorted(files[1] - files[0]):
        found.say("file appeared", name)
    same = 0
    for name in sorted(files[0] & files[1]):
        if (before / name).read_bytes() == (after / name).read_bytes():
            same += 1
            continue
        kind = Path(name).suffix
        if kind == ".parquet":
            compare_tables(name, before / name, after / name, found)
        elif kind == ".json":
            compare_json(name, before / name, after / name, found)
        else:
            compare_text(name, before / name, after / name, found)
    print(f"  {same} of {len(files[0] | files[1])} files are the same bytes")
    if "results.json" in files[0]:
        compare_bags(before, after, found)


def compare_tables(name: str, before: Path, after: Path, found: Findings) -> None:
    """Compare two tables column by column, rows by their keys."""
    one, two = pd.read_parquet(before), pd.read_parquet(after)
    for column in one.columns.difference(two.columns, sort=False):
        found.say("column disappeared", f"{name}: {column}")
    for column in two.columns.difference(one.columns, sort=False):
        found.say("column appeared", f"{name}: {column}")
    common = [column for column in one.columns if column in two.columns]
    if [column for column in two.columns if column in common] != common:
        found.say("columns in another order", name)
    if len(one) != len(two):
        found.say("other number of rows", f"{name}: {len(one)} before, {len(two)} after")
    keys = next((list(keys) for keys in KEYS if set(keys) <= set(common)), None)
    if keys and not one.duplicated(keys).any() and not two.duplicated(keys).any():
        indices = [pd.MultiIndex.from_frame(side[keys]) for side in (one, two)]
        if not indices[0].equals(indices[1]):
            rows = indices[1].get_indexer(indices[0])
            lost = int((rows < 0).sum())
            if lost or len(one) != len(two):
                found.say("rows of other keys", f"{name}: {lost} rows of before are not in after")
            else:
                found.say("rows in another order", name)
            one, two = one[rows >= 0].reset_index(drop=True), two.iloc[rows[rows >= 0]].reset_index(drop=True)
    if len(one) != len(two):
        return
    n_differing = 0
    for column in common:
        kind, told = column_difference(one[column], two[column])
        if kind:
            n_differing += 1
            found.say(kind, f"{name}: {column}: {told}")
    if not n_differing and list(one.columns) == list(two.columns):
        found.say("other bytes, same values", name)


def column_difference(one: pd.Series[Any], two: pd.Series[Any]) -> tuple[str, str]:
    """Kind of difference of two columns, and how large; two empty texts where there is none."""
    if one.dtype != two.dtype:
        return "other type of column", f"{one.dtype} before, {two.dtype} after"
    if not pd.api.types.is_numeric_dtype(one) or pd.api.types.is_bool_dtype(one):
        texts = [[shown(value) for value in side] for side in (one, two)]
        differing = sum(a != b for a, b in zip(*texts, strict=True))
        return ("other values", f"{differing} of {len(one)} rows") if differing else ("", "")
    a, b = one.to_numpy(np.float64), two.to_numpy(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if same.all():
        return "", ""
    absolute = np.abs(a - b)[~same]
    relative = absolute / np.maximum(np.abs(a), np.abs(b))[~same]
    if np.isnan(absolute).any():
        return "missing on one side", f"{int(np.isnan(absolute).sum())} of {len(a)} rows"
    told = (
        f"{int((~same).sum())} of {len(a)} rows, at most {absolute.max():.3g} ({relative.max():.3g} relative)"
    )
    return class_of(relative.max()), told


def shown(value: Any) -> str:
    """Text of a cell; lists and arrays alike."""
    return str(value.tolist() if isinstance(value, np.ndarray) else value)


def class_of(relative: float) -> str:
    """Class of a relative difference."""
    return f"<= {CLOSE:g} relative" if relative <= CLOSE else "larger difference"


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Paths and plain values of a JSON value; entries of lists go by their names where they have any."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else str(key))
        if not value:
            yield path, "{}"
    elif isinstance(value, list):
        for label, item in zip(labels(value), value, strict=True):
            yield from leaves(item, f"{path}[{label}]")
        if not value:
            yield path, "[]"
    else:
        yield path, value


def labels(entries: list[Any]) -> list[str]:
    """Names of the entries of a list, or their numbers."""
    numbers = [str(number) for number in range(len(entries))]
    if not entries or not all(isinstance(entry, dict) for entry in entries):
        return numbers
    naming = [
        key for key in NAMING if all(isinstance(entry.get(key), str | int | float) for entry in entries)
    ]
    names = [", ".join(f"{entry[key]}" for key in naming) for entry in entries]
    return names if naming and len(set(names)) == len(names) else numbers


def pattern_of(path: str) -> str:
    """Path without the names of entries of lists."""
    return re.sub(r"\[[^\]]*\]", "[]", path)


def by_parent(paths: Iterable[str]) -> dict[str, Counter[str]]:
    """Count paths by the record they stand in and the field there."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for path in paths:
        parent, _, name = pattern_of(path).rpartition(".")
        counts[parent or "the file"][name] += 1
    return counts


def compare_json(name: str, before: Path, after: Path, found: Findings) -> None:
    """Compare two JSON files by path."""
    one, two = (dict(leaves(json.loads(path.read_text(encoding="utf-8")))) for path in (before, after))
    for kind, paths in (
        ("path disappeared", one.keys() - two.keys()),
        ("path appeared", two.keys() - one.keys()),
    ):
        for parent, names in sorted(by_parent(paths).items()):
            fields = ", ".join(f"{field} {count}" for field, count in sorted(names.items()))
            found.say(kind, f"{name}: {parent}: {fields}", names.total())
    differing: dict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
    for path in one:
        if path in two and (kind := value_difference(one[path], two[path])):
            told = f"{path}: {one[path]!r} before, {two[path]!r} after"
            differing[kind[0], pattern_of(path)].append((kind[1], told))
    for (kind, pattern), cases in sorted(differing.items()):
        worst, told = max(cases)
        size = f", at most {worst:.3g} relative" if 0 < worst < np.inf else ""
        found.say(kind, f"{name}: {pattern}: {len(cases)} values{size}; such as {told}", len(cases))
    common = len(one.keys() & two.keys())
    print(
        f"  {name}: {common} paths in common, {common - sum(map(len, differing.values()))} of them exactly equal"
    )
    if one == two:
        found.say("other bytes, same values", name)


def value_difference(one: Any, two: Any) -> tuple[str, float] | None:
    """Class of a difference and its relative size; None where there is none."""
    if (
        isinstance(one, bool)
        or isinstance(two, bool)
        or not all(isinstance(v, int | float) for v in (one, two))
    ):
        return None if type(one) is type(two) and one == two else ("other value", np.inf)
    if one == two:
        return None
    relative = abs(one - two) / max(abs(one), abs(two))
    return class_of(relative), relative


def compare_text(name: str, before: Path, after: Path, found: Findings) -> None:
    """Compare two texts or pages line by line, pictures of pages left out."""
    one, two = (lines_of(path) for path in (before, after))
    changes = [
        line
        for line in difflib.unified_diff(one, two, lineterm="", n=0)
        if line[:1] in "+-" and not line.startswith(("+++", "---"))
    ]
    if not changes:
        found.say("other pictures or layout, same words", name)
        return
    if sorted(one) == sorted(two):
        found.say("lines in another order", name)
        return
    found.say("other words", f"{name}: {len(changes)} lines of {len(one)}")
    for line in changes[:SHOWN]:
        print(f"      {line[:160]}")


def lines_of(path: Path) -> list[str]:
    """Lines of a text; of a page the words between the tags."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".html":
        return text.splitlines()
    text = re.sub(r"(?s)<(script|style)\b.*?</\1>", "\n", text)
    words = re.sub(r"(?s)<[^>]*>", "\n", text).splitlines()
    return [" ".join(line.split()) for line in words if line.strip()]


def compare_bags(before: Path, after: Path, found: Findings) -> None:
    """Name the numbers of results.json of before that are nowhere in after, wherever they stand."""
    numbers = telling_numbers(before / "results.json")
    held = telling_numbers(after / "results.json") if (after / "results.json").is_file() else {}
    elsewhere: set[float] = set()
    for path in after.rglob("*.json"):
        elsewhere |= telling_numbers(path).keys()
    close = np.sort(np.array([*held, *elsewhere, np.inf]))
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for number, paths in numbers.items():
        if number in held:
            continue
        place = int(np.searchsorted(close, number))
        near = [abs(other - number) / abs(number) for other in close[max(place - 1, 0) : place + 1]]
        if number in elsewhere:
            kind = "number in another file of after"
        elif min(near) <= CLOSE:
            kind = f"number in after only to {CLOSE:g}"
        else:
            kind = "number nowhere in after"
        for path in paths:
            kinds[kind][pattern_of(path)] += 1
    total = len(numbers)
    missing = sum(number not in held for number in numbers)
    print(f"  bag of numbers: {total - missing} of {total} numbers of results.json are in that of after")
    for kind, patterns in kinds.items():
        for pattern, count in patterns.most_common():
            found.say(kind, f"{pattern} ({count} values)", count)


def telling_numbers(path: Path) -> Mapping[float, list[str]]:
    """Numbers of six or more significant digits with the paths they stand at."""
    numbers: dict[float, list[str]] = defaultdict(list)
    for place, value in leaves(json.loads(path.read_text(encoding="utf-8"))):
        if isinstance(value, float) and len(digits(value)) >= 6:
            numbers[value].append(place)
    return numbers


def digits(value: float) -> str:
    """Significant digits of a number."""
    return repr(abs(value)).partition("e")[0].replace(".", "").strip("0")


if __name__ == "__main__":
    main()
