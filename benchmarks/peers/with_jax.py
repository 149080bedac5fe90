# SPDX-License-Identifier: Apache-2.0
"""JAX on the CPU: compiled before, waited for.

Its threads are as many as there were processors when it started; ``benchmarks.cpus.only`` keeps
them on as many processors as there shall be threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers.base import Prepared, Task, native_copy

__all__ = ["WithJax"]


class WithJax:
    name = "JAX"
    distribution = "jax"

    def load(self) -> None:
        import jax

        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_enable_x64", True)  # 64-bit data, and indices as the others give
        jax.devices()  # makes the threads; later, there may be fewer processors for a while
        self._jax: Any = jax
        self._argmax = partial(jax.jit, static_argnums=(1, 2, 3))(_argmax)

    def prepare(self, task: Task) -> Prepared:
        jax, axis, last = self._jax, task.axis, task.select_last_index
        readable, copy = native_copy(task)
        result = np.dtype(task.result)
        array = jax.device_put(readable)  # without a copy where it is aligned
        # Compiled here, so that not even the first call is more than a call.
        argmax = self._argmax.lower(array, axis, last, result).compile()
        if copy is None:
            return self._prepared(lambda: argmax(array), copies=False)
        made = copy

        def call() -> Any:
            made()
            return argmax(jax.device_put(readable))

        return self._prepared(call, copies=True)

    @staticmethod
    def _prepared(call: Callable[[], Any], *, copies: bool) -> Prepared:
        return Prepared(
            lambda: call().block_until_ready(), lambda: np.asarray(call()), copies=copies
        )


def _argmax(data: Any, axis: int | None, last: bool, result: Any) -> Any:
    from jax import lax
    from jax import numpy as jnp

    flat = data.reshape(-1) if axis is None else data
    along = 0 if axis is None else axis % flat.ndim
    if last:
        found = lax.argmax(jnp.flip(flat, along), along, result)
        return (flat.shape[along] - 1 - found).astype(result)
    return lax.argmax(flat, along, result)
