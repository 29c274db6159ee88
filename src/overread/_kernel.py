"""Compile numeric kernels with numba.

Kernels are compiled by numba on first use and cached on disk. They may re-associate sums (needed for SIMD)
and contract a*b+c, but NaN, infinities and division keep their IEEE meaning, so invalid input stays visible.
An exact kernel keeps the written order of its operations, which the elementary functions need. Kernels never
raise and never use threads: callers validate. The same input gives the same bits, also in the process that
compiles them, because a kernel runs its own copies of the kernels that it calls. (A kernel called from Python
and its copy in another kernel may round differently.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from llvmlite.binding import Linkage
from numba import njit
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function with numba, cached on disk, without the global interpreter lock."""
    return _compile(function, {"reassoc", "contract", "nsz"})


def exact_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile like `kernel`, but never re-associate: for code whose rounding is part of the method."""
    return _compile(function, {"contract"})


def _compile(function: Callable[P, R], fastmath: set[str]) -> Callable[P, R]:
    compiled = njit(
        cache=True, nogil=True, error_model="numpy", fastmath=fastmath, pipeline_class=_KernelCompiler
    )
    return cast(Callable[P, R], compiled(function))


class _SelfContainedCode(JITCodeLibrary):
    """Machine code of a kernel with private copies of the functions that it calls.

    Numba links the functions that a kernel calls into the kernel's code, optimizes them there once more and
    exports these copies as weak symbols. Where a function of that name is already loaded, the linker takes
    that one: in the process that compiles, always the one compiled separately; in a process that reads the
    cache, it depends on earlier calls. The two may sum in different orders. So the copies are made internal
    here, after the optimization. Callers of this kernel still link numba's module.
    """

    def _finalize_final_module(self) -> None:
        self._shared_module = self._final_module.clone()
        for function in self._final_module.functions:
            if function.is_declaration:
                continue
            if function.linkage == Linkage.external:
                self._shared_module.get_function(function.name).linkage = "linkonce_odr"
            elif function.linkage == Linkage.linkonce_odr:
                function.linkage = "internal"
        super()._finalize_final_module()


class _KernelCompiler(Compiler):
    """Numba's compiler, with self-contained code."""

    def define_pipelines(self) -> Any:
        state = self.state
        state.library = _SelfContainedCode(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().define_pipelines()
