"""Run the benchmarks: ``python -m benchmarks.run [module ...] [--quick]``."""

from __future__ import annotations

import argparse
import importlib
import os

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"

MODULES = (
    "l1_path",
    "growth",
    "overlap",
    "merge",
    "froc",
    "baselines",
    "crowd_labels",
    "candidates",
    "texture",
    "features",
    "phantom",
    "simulate",
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time and memory beside the peers.")
    parser.add_argument(
        "modules", nargs="*", default=MODULES, help=f"of {', '.join(MODULES)}; all by default"
    )
    parser.add_argument("--quick", action="store_true", help="smaller problems")
    arguments = parser.parse_args()
    from benchmarks import rows

    for name in arguments.modules:
        print(f"{name} ...", flush=True)
        found = []
        for row in importlib.import_module(f"benchmarks.{name}").run(quick=arguments.quick):
            found.append(row)
            rows.write(name, found, quick=arguments.quick)
            ratio = f", ratio {row.ratio:.2f}" if row.ratio else ""
            print(f"  {row.what}: {row.ours:.4g} {row.unit}{ratio} | {row.note}", flush=True)


if __name__ == "__main__":
    main()
