# SPDX-License-Identifier: Apache-2.0
"""``onnx-argmax array``: ArgMax of an array in a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from onnx_argmax import argmax
from onnx_argmax.cli.errors import CommandError
from onnx_argmax.cli.files import as_bfloat16, read_source, source_path
from onnx_argmax.cli.outputs import check_writable, write_npy
from onnx_argmax.cli.standard_output import check_open
from onnx_argmax.cli.tables import show_line

__all__ = ["ArrayJob", "argmax_of_file"]


@dataclass(frozen=True, slots=True)
class ArrayJob:
    """What ``onnx-argmax array`` was asked for; the names are those of the array function."""

    source: str
    axis: int | None
    keepdims: bool
    select_last_index: bool
    bfloat16: bool
    dtype: str
    threads: int | None
    output: Path | None


def argmax_of_file(job: ArrayJob) -> None:
    """Read the array, reduce it, and write the result or print it."""
    if job.output is None:
        check_open()
    else:
        check_writable(job.output, keep=[source_path(job.source)])
    data = read_source(job.source)
    if job.bfloat16:
        data = as_bfloat16(data)
    elif data.dtype.kind == "V" and data.dtype.fields is None:
        raise CommandError(
            f"{job.source}: the items are {data.dtype.itemsize} raw bytes ({data.dtype.str}) of "
            "no type; if they are bfloat16, which NumPy saves so, say --bfloat16"
        )
    result = argmax(
        data,
        axis=job.axis,
        keepdims=job.keepdims,
        select_last_index=job.select_last_index,
        dtype=job.dtype,
        threads=job.threads,
    )
    if job.output is not None:
        write_npy(job.output, result)
        show_line(f"{job.output}: {result.dtype} {result.shape}")
    else:
        show_line(f"shape {result.shape}, dtype {result.dtype}")
        show_line(np.array2string(result))
