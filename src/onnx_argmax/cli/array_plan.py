# SPDX-License-Identifier: Apache-2.0
"""What ``onnx-argmax array`` was asked for, and in which blocks that fits the memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from onnx_argmax import get_num_threads
from onnx_argmax._block_plan import BlockPlan, TooLittleMemoryError, plan_of
from onnx_argmax._block_sources import BlockSource
from onnx_argmax._element_types import ElementType
from onnx_argmax._memory_size import size_text
from onnx_argmax._reductions import Reduction
from onnx_argmax.cli.errors import CommandError
from onnx_argmax.cli.process_memory import resident_bytes

__all__ = ["ArrayJob", "ArrayMemory"]

_UNEVEN_BYTES: Final = 4 << 20
"""What a process of the same work may hold more or less from one run to the next."""

_JOURNAL_BYTES: Final = 16 << 20
"""NumPy writes an array to an archive, as the journal is one, by so much at once."""

_ZARR_OUTPUT_BYTES: Final = 16 << 20
"""What Zarr takes for itself and for the copies of a chunk of 4 MiB on its way, as the whole
result is copied to its array. Measured of 46 MiB: 20 MiB more than for a ``.npy``, of which the
library's modules, which are there before, are a part. The blocks are gone by then."""


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
    memory: int
    """Most bytes that the process may hold."""
    output: Path | None
    resume: bool
    ends_process: bool = False
    """Whether the process ends with the command."""

    @property
    def to_zarr(self) -> bool:
        """Whether the result goes to a Zarr array."""
        return self.output is not None and self.output.suffix.lower() == ".zarr"


class ArrayMemory:
    """The memory of one reduction.

    Parameters
    ----------
    job
        What was asked for.
    source, element_type, reduction
        Of it; the source is open.
    """

    def __init__(
        self, job: ArrayJob, source: BlockSource, element_type: ElementType, reduction: Reduction
    ) -> None:
        self._job, self._source = job, source
        self._element_type, self._reduction = element_type, reduction
        self.threads = get_num_threads() if job.threads is None else job.threads
        self._resident = resident_bytes()
        # One of the two at a time.
        beside_walk = job.resume or job.to_zarr
        self._aside = max(_JOURNAL_BYTES, _ZARR_OUTPUT_BYTES) if beside_walk else 0

    @property
    def left(self) -> int:
        """What the walk may take of it."""
        return max(0, self._job.memory - self._resident)

    def plan(self, result_bytes: int = 0) -> BlockPlan | None:
        """The blocks; None where there is nothing to read.

        The command's own files take a box in no more memory than the copy of it that the plan
        counts.

        Parameters
        ----------
        result_bytes
            Of the result, where it lies in memory.

        Raises
        ------
        CommandError
            When the memory is too little; the message says how much is enough.
        """
        if 0 in self._source.shape:
            return None
        try:
            return plan_of(
                self._source,
                self._element_type,
                self._reduction,
                self.threads,
                self.left,
                result_bytes=result_bytes,
                taken_bytes=self._aside,
            )
        except TooLittleMemoryError as error:
            least = error.least_bytes
        chunk, shape = self._source.chunk, self._source.shape
        what = f"an array of shape {shape}"
        if max(chunk, default=1) > 1:
            what += f" in chunks of {chunk}"
        if self._job.output is None and result_bytes > least // 2:
            what += f", whose result takes {size_text(result_bytes)} without --output"
        raise self._too_little(least, what)

    def plan_in_blocks_of(
        self,
        lengths: tuple[int, ...],
        plan: BlockPlan,
        journal: Path,
        unusable: Callable[[str], CommandError],
    ) -> BlockPlan:
        """The plan of the run that kept a journal, with as many readers as fit now.

        Raises
        ------
        CommandError
            What ``unusable`` makes of blocks that there cannot be; and as for :meth:`plan`.
        """
        needs = plan.needs
        if len(lengths) != len(needs.shape) or not all(
            1 <= n <= whole for n, whole in zip(lengths, needs.shape, strict=True)
        ):
            raise unusable(f"damaged: blocks of {lengths} in it")
        least = 0
        for workers in range(needs.workers, 0, -1):
            found = BlockPlan(needs, lengths, workers)
            found = BlockPlan(needs, lengths, min(workers, found.blocks))
            least = needs.least_memory(lengths, found.workers) + self._aside
            if least <= self.left:
                return found
        raise self._too_little(least, f"the blocks that {journal} was begun with")

    def _too_little(self, least: int, what: str) -> CommandError:
        works = size_text(self._resident + least + _UNEVEN_BYTES).replace(" ", "")
        return CommandError(
            f"--memory: {size_text(self._job.memory)} is too little for {what}, beside "
            f"{size_text(self._resident)} that the process has before; the least that works is "
            f"--memory {works}"
        )
