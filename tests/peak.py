# SPDX-License-Identifier: Apache-2.0
"""What a call takes of memory, as the kernel counts it, and sparse files to call it on."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

__all__ = ["peak_bytes", "sparse_npy"]


def peak_bytes(call: Callable[[], object]) -> int:
    """Most resident memory during a call beyond what was resident before it.

    Only the first measurement of a process counts in full: what one call gave back, the next one
    takes again.
    """
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
    call()
    return _status("VmHWM") - before


def _status(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(f"{key}:")).split()[1])


def sparse_npy(path: Path, shape: tuple[int, ...], dtype: str, *, fortran: bool = False) -> None:
    """A ``.npy`` of zeros that takes no room on the disk."""
    with path.open("wb") as file:
        header = {"descr": np.dtype(dtype).str, "fortran_order": fortran, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + math.prod(shape) * np.dtype(dtype).itemsize)
