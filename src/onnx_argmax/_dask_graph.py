# SPDX-License-Identifier: Apache-2.0
"""The tasks of a reduction: which blocks each block of the result takes, and by what tree."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from onnx_argmax._dask_tasks import Job, task

__all__ = ["tasks_of"]

_Block = tuple[int, ...]


def tasks_of(
    job: Job,
    data_name: str,
    chunks: tuple[tuple[int, ...], ...],
    *,
    name: str,
    token: str,
    split_every: int,
) -> dict[Any, Any]:
    """Tasks by key.

    A block of the result whose elements come from one block of the data takes one task. Any other
    takes a task for each of its blocks, which gives partial results, and a tree that merges
    ``split_every`` of them at a time, neighbours first.

    Parameters
    ----------
    job : Job
        What is reduced.
    data_name, name : str
        First part of the keys of the data and of the result.
    chunks : tuple of tuple of int
        Of the data.
    token : str
        What tells this reduction's keys from those of others.
    split_every : int
        Most partial results that one task merges.
    """
    counts = tuple(map(len, chunks))
    starts = [list(itertools.accumulate(sizes, initial=0)) for sizes in chunks]
    text = job.text()
    tasks: dict[Any, Any] = {}

    def add(key: tuple[Any, ...], step: str, taken: Any, **values: Any) -> tuple[Any, ...]:
        tasks[key] = task(text, step, taken, **values)
        return key

    for result, blocks in _lines(counts, job.axis, job.keepdims):
        parts: list[tuple[Any, ...]] = []
        for block in blocks:
            taken = (data_name, *block)
            shape = [sizes[i] for sizes, i in zip(chunks, block, strict=True)]
            if len(blocks) == 1:
                add((name, *result), "result_of_block", taken, place=block, shape=shape)
                continue
            parts.append(
                add(
                    (f"onnx-argmax-block-{token}", *block),
                    "partials_of_block",
                    taken,
                    place=block,
                    shape=shape,
                    offset=[start[i] for start, i in zip(starts, block, strict=True)],
                )
            )
        level = 0
        while len(parts) > split_every:
            groups = [parts[i : i + split_every] for i in range(0, len(parts), split_every)]
            parts = [
                group[0]
                if len(group) == 1
                else add((f"onnx-argmax-merge-{token}", *result, level, number), "merged", group)
                for number, group in enumerate(groups)
            ]
            level += 1
        if parts:
            add((name, *result), "result_of_partials", parts)
    return tasks


def _lines(
    counts: _Block, axis: int | None, keepdims: bool
) -> Iterator[tuple[_Block, list[_Block]]]:
    """Each block of the result, and the blocks of the data that it is made of, in their order."""
    if axis is None or not counts:
        blocks = list(itertools.product(*map(range, counts)))
        yield (blocks[0] if keepdims else ()), blocks
        return
    for rest in itertools.product(*map(range, counts[:axis] + counts[axis + 1 :])):
        blocks = [(*rest[:axis], i, *rest[axis:]) for i in range(counts[axis])]
        yield (blocks[0] if keepdims else rest), blocks
