# SPDX-License-Identifier: Apache-2.0
"""What a Dask worker runs: blocks to partial results, partial results to one, that to indices.

A graph names functions of the standard library alone; one of them looks for :func:`run` on the
worker, and that is told in text what to do. So whoever lacks the package, or has another version
of it, can take the graph and says what is missing when it comes to a task: a worker that cannot
unpickle its tasks would leave the cluster, and the client wait for ever. For the same reason
this module, :func:`run` and the key ``version`` keep their names. Dask is not needed here.
"""

from __future__ import annotations

import json
import operator
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from onnx_argmax import _build
from onnx_argmax._argmax import argmax
from onnx_argmax._arrays import Source, source
from onnx_argmax._element_types import (
    ElementType,
    element_type_of_dtype,
    element_type_of_tensor_proto,
)
from onnx_argmax._partial import Partials, merge, partials_of

__all__ = ["Job", "only_numpy", "run", "task"]


@dataclass(frozen=True, slots=True)
class Job:
    """What all tasks of one graph have in common."""

    tensor_proto: int
    """Number of the element type."""
    whole: Sequence[int]
    """Shape of the whole array."""
    axis: int | None
    """Normalized."""
    keepdims: bool
    select_last_index: bool
    dtype: str
    """Name of the result's dtype."""
    threads: int
    """Most native threads of one task."""

    @property
    def element_type(self) -> ElementType:
        found = element_type_of_tensor_proto(self.tensor_proto)
        assert found is not None
        return found

    def text(self) -> str:
        """For :func:`task`."""
        return json.dumps({"version": _build.__version__, **asdict(self)})


def task(job: str, step: str, taken: Any, **values: Any) -> tuple[Any, ...]:
    """A task of a graph.

    Parameters
    ----------
    job : str
        :meth:`Job.text`.
    step : str
        Name of the step.
    taken : key or list of keys
        Of the block, or of the partial results.
    **values
        What the step needs besides, in terms of JSON.
    """
    # Dask takes a bare value for a key where some task has that name; none is named like these.
    return (operator.call, _RUN, job, json.dumps({"step": step, **values}), taken)


def run(job: str, step: str, taken: Any) -> Any:
    """Run one task.

    Parameters
    ----------
    job, step : str
        What to do, as :func:`task` wrote it.
    taken
        The block, or a list of partial results.

    Raises
    ------
    RuntimeError
        Where this process has another version of the package.
    TypeError, ValueError
        For a block that is not what the Dask array declares.
    """
    common = json.loads(job)
    version = common.pop("version")
    if version != _build.__version__:
        raise RuntimeError(
            f"onnx_argmax: version {version} built this graph, but this worker has "
            f"{_build.__version__}; install the same one on client and workers and restart them: "
            "onnx_argmax.dask.check_workers(client) names those that differ"
        )
    values = json.loads(step)
    return _STEPS[values.pop("step")](Job(**common), taken, **values)


# One for all tasks, which may be millions.
_RUN: Final = (pkgutil.resolve_name, f"{__name__}:{run.__name__}")


def only_numpy(kind: type) -> str:
    """Why blocks of this kind are not taken, and what to do."""
    next_steps = {
        "MaskedArray": "pass dask.array.ma.filled(data, value) with a value that cannot win",
        "cupy": "pass data.map_blocks(cupy.asnumpy)",
        "sparse": "pass data.map_blocks(lambda block: block.todense())",
    }
    library = kind.__module__.partition(".")[0]
    next_step = next_steps.get(kind.__name__) or next_steps.get(library)
    return (
        "only plain NumPy arrays are read; "
        f"{next_step or 'pass data.map_blocks(numpy.asarray) where that keeps what they mean'}"
    )


def _result_of_block(job: Job, block: Any, place: list[int], shape: list[int]) -> Any:
    """The result where one block has the whole of what is reduced."""
    array, _ = _checked(job, block, place, shape)
    return argmax(
        array,
        job.axis,
        job.keepdims,
        job.select_last_index,
        dtype=job.dtype,
        threads=job.threads,
    )


def _partials_of_block(
    job: Job, block: Any, place: list[int], shape: list[int], offset: list[int]
) -> Partials:
    _, taken = _checked(job, block, place, shape)
    return partials_of(
        taken,
        tuple(offset),
        tuple(job.whole),
        job.axis,
        job.select_last_index,
        threads=job.threads,
    )


def _merged(job: Job, parts: list[Partials]) -> Partials:
    # Copied, since other tasks may hold the very same memory.
    into = parts[0].copy()
    for part in parts[1:]:
        merge(into, part, job.element_type, job.select_last_index)
    return into


def _result_of_partials(job: Job, parts: list[Partials]) -> np.ndarray[Any, Any]:
    indices = _merged(job, parts)["index"].astype(job.dtype)
    if job.keepdims:
        return indices
    return indices.reshape(()) if job.axis is None else indices.squeeze(job.axis)


_STEPS: Final[dict[str, Callable[..., Any]]] = {
    "result_of_block": _result_of_block,
    "partials_of_block": _partials_of_block,
    "merged": _merged,
    "result_of_partials": _result_of_partials,
}


def _checked(
    job: Job, block: Any, place: list[int], shape: list[int]
) -> tuple[np.ndarray[Any, Any], Source]:
    """The block as an array and as the core reads it, once it is what was declared."""
    if isinstance(block, np.generic):  # what many functions make of an array of rank 0
        block = np.asarray(block)
    if not isinstance(block, np.ndarray) or isinstance(block, np.ma.MaskedArray):
        kind: type = type(block)
        raise TypeError(
            f"data: block {tuple(place)} is a {kind.__module__}.{kind.__qualname__}; "
            + only_numpy(kind)
        )
    array: np.ndarray[Any, Any] = block
    declared = job.element_type
    if array.shape != tuple(shape) or element_type_of_dtype(array.dtype) is not declared:
        raise ValueError(
            f"data: block {tuple(place)} has shape {array.shape} and type {array.dtype}, but the "
            f"Dask array declares {tuple(shape)} and {declared.dtype_name}; give the function "
            "that makes the blocks the right chunks=, dtype= and meta="
        )
    return array, source(array)
