"""The one way to compile a numeric kernel.

Kernels are compiled by numba on first use and cached on disk. They may re-associate sums (needed for SIMD)
and contract a*b+c, but NaN, infinities and division keep their IEEE meaning, so hostile input stays visible.
An exact kernel keeps the order of its operations as written; the elementary functions need that.
Kernels never raise and never use threads: callers validate, and the same input gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

from numba import njit

__all__ = ["exact_kernel", "kernel"]

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function with numba, cached on disk, without the global interpreter lock."""
    compiled = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
    return cast(Callable[P, R], compiled(function))


def exact_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile like `kernel`, but never re-associate: for code whose rounding is part of the method."""
    compiled = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
    return cast(Callable[P, R], compiled(function))
