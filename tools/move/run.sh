set -e
cd "$(dirname "$0")/../.."
bash tools/move/before.sh
python3 tools/move/move.py > move.log
bash tools/move/after.sh
python3 tools/move/after.py
cp -r tools/move/after/* .
.venv/bin/ruff check -q --fix src tests benchmarks docs || true
.venv/bin/ruff format -q src tests benchmarks docs
