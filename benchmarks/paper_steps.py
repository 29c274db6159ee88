"""From the paper's rules to our defaults on one cohort: number of features and sensitivity, over several splits.

    overread reproduce --output FOLDER
    python -m benchmarks.paper_steps FOLDER [--settings paper defaults ...] [--seeds 10]

Runs the study in FOLDER with ``preset = "paper"``, with our defaults, or with the preset and one of our defaults in
place of the paper's rule (``--settings`` names the key, as in the table of docs/reference/paper_to_code.md). A seed
draws another split into thirds and other folds; the images stay. All runs are counted as the paper counts, on the
test third, with thresholds from training and validation. Writes ``results/paper_steps.json`` after each run and
leaves out runs that are already there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.rows import RESULTS

RESULT = RESULTS / "paper_steps.json"
COMMAND = "import sys; from overread.cli import main; sys.exit(main())"
FP_TARGETS = [0.5, 1.0, 1.5, 2.0, 2.5, 3.0]
# What `overread reproduce` sets beside the preset: time, not rules.
COMMON: dict[str, dict[str, Any]] = {
    "candidates": {"limit": 60},
    "models": {"folds": 3, "wanted": ["soft", "b1", "b2"]},
    "b1": {"screen": 400, "prune_bounds": [1e2, 1e4]},
    "b2": {"screen": 400, "prune_bounds": [1e2, 1e4]},
    "evaluation": {"headline": "test", "fp_targets": FP_TARGETS},
}
# One key of the preset each, with our default.
STEPS: dict[str, dict[str, dict[str, Any]]] = {
    "labels.n_max": {"labels": {"n_max": "auto"}},
    "features.exclude": {"features": {"exclude": []}},
    "soft.intercept": {"soft": {"intercept": True}},
    "soft.divide_by_features": {"soft": {"divide_by_features": False}},
    "soft.normalizations": {"soft": {"normalizations": ["bags", "class"]}},
    "soft.rule": {"soft": {"rule": "cross_validation"}},
    "soft.pick": {"soft": {"pick": "sparsest"}},
    "soft.min_ratio": {"soft": {"min_ratio": 0.02}},
    "b1.rule, b2.rule": {"b1": {"rule": "cross_validation"}, "b2": {"rule": "cross_validation"}},
    "hits.single_reader": {"hits": {"single_reader": "ignore"}},
    "hits.repeats": {"hits": {"repeats": "suppress"}},
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--settings", nargs="+", choices=["paper", "defaults", *STEPS], default=["paper", "defaults"]
    )
    parser.add_argument("--seeds", type=int, default=10)
    given = parser.parse_args()
    rows = json.loads(RESULT.read_text("utf-8"))["rows"] if RESULT.exists() else []
    done = {(row["settings"], row["seed"]) for row in rows}
    for settings in given.settings:
        for seed in range(given.seeds):
            if (settings, seed) not in done:
                rows.append({"settings": settings, "seed": seed, **run(given.folder, settings, seed)})
                write(rows)
                print(rows[-1], flush=True)


def run(folder: Path, settings: str, seed: int) -> dict[str, Any]:
    (folder / "study.toml").write_text(settings_text(settings, seed), encoding="utf-8")
    command = [sys.executable, "-c", COMMAND, "run", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    results = json.loads((folder / "runs" / "main" / "results.json").read_text("utf-8"))
    tables = {model["name"]: model["rows"][-1] for model in results["paper"]["of_all"]["models"]}
    return {
        "models": {
            model["title"]: {
                "n_features": model["n_features"],
                "fp_per_image": tables[model["title"]]["fp_per_image"],
                "gt_sensitivity": tables[model["title"]]["gt_sensitivity"]["values"],
            }
            for model in results["models"]
        },
        "claims": {name: claim and claim["answer"] for name, claim in results["claims"].items()},
    }


def settings_text(settings: str, seed: int) -> str:
    sections = {name: dict(values) for name, values in COMMON.items()}
    for name, values in STEPS.get(settings, {}).items():
        sections.setdefault(name, {}).update(values)
    preset = "" if settings == "defaults" else 'preset = "paper"\n'
    parts = [
        f"[{name}]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in own.items())
        for name, own in sections.items()
    ]
    return f"{preset}seed = {seed}\n\n" + "\n".join(parts)


def write(rows: list[dict[str, Any]]) -> None:
    names = ("overread", "numpy", "scipy", "numba", "scikit-learn")
    content = {
        "date": datetime.now(UTC).date().isoformat(),
        "versions": {name: version(name) for name in names},
        "fp_targets": FP_TARGETS,
        "rows": rows,
    }
    RESULT.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
