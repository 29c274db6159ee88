"""Every default of functions and commands comes from one module."""

import inspect

import pytest

import overread.froc
from overread.cli.compare import compare as compare_command
from overread.cli.froc import froc as froc_command
from overread.froc import _defaults as defaults

OWNED = {
    "fp_targets": (defaults.FP_TARGETS, defaults.ALPHA_FP_TARGETS, defaults.CHOICE_FP_TARGETS),
    "fp": (defaults.FP_TARGETS,),
    "n_bootstrap": (defaults.N_BOOTSTRAP, defaults.N_CHOICE_BOOTSTRAP),
    "n_permutations": (defaults.N_BOOTSTRAP,),
    "single_reader": (defaults.SINGLE_READER,),
    "n_shifts": (defaults.CHANCE_SHIFTS,),
}
FUNCTIONS = {name: getattr(overread.froc, name) for name in overread.froc.__all__}


@pytest.mark.parametrize(
    "function",
    [*FUNCTIONS, froc_command, compare_command],
    ids=lambda one: one if isinstance(one, str) else f"command {one.__name__}",
)
def test_no_function_has_a_default_of_its_own(function):
    function = FUNCTIONS.get(function, function) if isinstance(function, str) else function
    if not callable(function):
        return
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return
    for parameter in parameters:
        if parameter.default in (inspect.Parameter.empty, None):
            continue
        if parameter.name in OWNED:
            assert parameter.default in OWNED[parameter.name]
        if parameter.name == "level":
            assert parameter.default in (defaults.LEVEL, "gt")
