import pytest

from overread.cli import main
from overread.cli.seed import checked_seed


@pytest.mark.parametrize(
    "command",
    [("froc", "scores.csv", "truth.csv"), ("compare", "a.csv", "b.csv", "truth.csv"), ("demo",)],
)
@pytest.mark.parametrize("seed", ["-1", str(2**32)])
def test_a_seed_out_of_range_is_a_mistake_in_use(command, seed, capsys):
    assert main([*command, "--seed", seed]) == 2
    assert f"--seed {seed}: need a whole number from 0" in capsys.readouterr().err


def test_good_seeds_are_kept():
    assert [checked_seed(seed) for seed in (0, 2**32 - 1)] == [0, 2**32 - 1]
