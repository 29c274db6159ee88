set -e
R=.venv/bin/ruff
mv src/overread/anatomy/lung_model.npz src/overread/candidates/ranking.npz src/overread/domains/chest/
mv src/overread/features/learned/weights.npz src/overread/features/
mv src/overread/reading/page src/overread/apps/room/page
mv src/overread/scenario/demo.toml src/overread/apps/scenario/
rmdir src/overread/anatomy src/overread/candidates src/overread/features/learned src/overread/reading src/overread/scenario 2>/dev/null || true
$R check -q --fix --select I,F401,F811,UP,D202 src tests benchmarks docs || true
$R format -q src tests benchmarks docs
