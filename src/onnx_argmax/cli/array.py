# SPDX-License-Identifier: Apache-2.0
"""``onnx-argmax array``: ArgMax of an array in a file or a store, of any size."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from onnx_argmax import __version__, get_num_threads
from onnx_argmax._block_plan import BlockPlan, TooLittleMemoryError, plan_of
from onnx_argmax._block_sources import BlockSource, ObjectSource, block_source
from onnx_argmax._block_targets import BlockTarget, block_target
from onnx_argmax._block_walk import BlockWalk, Finished
from onnx_argmax._element_types import ElementType
from onnx_argmax._memory_size import size_text
from onnx_argmax._reductions import Reduction
from onnx_argmax.cli.array_journal import ArrayJournal, Facts
from onnx_argmax.cli.array_output import PartFile
from onnx_argmax.cli.errors import CommandError, message_of
from onnx_argmax.cli.files import bfloat16_view, read_source, source_path
from onnx_argmax.cli.input_identity import identity_of
from onnx_argmax.cli.interruption import BrokenOffError, Stopped, raised_signals
from onnx_argmax.cli.outputs import check_writable
from onnx_argmax.cli.process_memory import resident_bytes
from onnx_argmax.cli.progress import ProgressBar
from onnx_argmax.cli.standard_output import check_open
from onnx_argmax.cli.tables import show_line
from onnx_argmax.cli.zarr_output import zarr_of_format_3
from onnx_argmax.outofcore import Progress

__all__ = ["ArrayJob", "argmax_of_file"]

_JOURNAL_FORMAT: Final = 1

_UNEVEN_BYTES: Final = 4 << 20
"""What a process of the same work may hold more or less from one run to the next."""

_ASIDE_BYTES: Final = 16 << 20
"""Beside the walk: NumPy writes an array to an archive, as the journal is one, by so much at
once, and a chunk of a Zarr array, with its copies, takes as much on its way."""

_LIBRARY_BYTES: Final = 16 << 20
"""What the library of a store takes for itself once it reads: its threads and caches. Measured of
HDF5 with chunks of 4 MB: 15 MiB."""


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


def argmax_of_file(job: ArrayJob) -> None:
    """Read the array, reduce it, and write the result or print it.

    Raises
    ------
    CommandError, OSError, TypeError, ValueError
        For whatever is wrong with the source, the output or the memory.
    BrokenOffError
        When a signal asks for an end.
    """
    path = source_path(job.source)
    if job.output is None:
        check_open()
    else:
        check_writable(job.output, keep=[path])
        if job.output.suffix.lower() == ".zarr":
            zarr_of_format_3()  # before the work, and before the memory is looked at
    identity = identity_of(path)
    with read_source(job.source) as stored:
        source, element_type = block_source(stored, _view(job, np.dtype(stored.dtype)))
        with closing(source):
            reduction = Reduction.checked(
                source.shape, job.axis, job.keepdims, job.select_last_index, job.dtype, None
            )
            work = _Work(job, path, identity, source, element_type, reduction)
            if job.output is None:
                work.print_result()
            else:
                work.write_result(job.output)


def _view(job: ArrayJob, dtype: np.dtype[Any]) -> np.dtype[Any] | None:
    if job.bfloat16:
        return bfloat16_view(dtype)
    if dtype.kind == "V" and dtype.fields is None:
        raise CommandError(
            f"{job.source}: the items are {dtype.itemsize} raw bytes ({dtype.str}) of no type; if "
            "they are bfloat16, which NumPy saves so, say --bfloat16"
        )
    return None


class _Work:
    """One reduction of a source that is open."""

    def __init__(
        self,
        job: ArrayJob,
        path: Path,
        identity: list[Any] | None,
        source: BlockSource,
        element_type: ElementType,
        reduction: Reduction,
    ) -> None:
        self._job, self._path, self._identity = job, path, identity
        self._source, self._element_type, self._reduction = source, element_type, reduction
        self._threads = get_num_threads() if job.threads is None else job.threads
        self._resident = resident_bytes()
        of_store = _LIBRARY_BYTES if isinstance(source, ObjectSource) else 0
        to_zarr = job.output is not None and job.output.suffix.lower() == ".zarr"
        self._aside = of_store + (_ASIDE_BYTES if job.resume or to_zarr else 0)
        self._blocks = self._blocks_done = 0

    def print_result(self) -> None:
        """Hold the result in memory and print it."""
        reduction = self._reduction
        needed = math.prod(reduction.result_shape) * reduction.result_dtype.itemsize
        plan = self._plan(needed)
        result = np.empty(reduction.result_shape, reduction.result_dtype)
        with raised_signals():
            try:
                self._walk(block_target(result), plan)
            except (Stopped, KeyboardInterrupt) as error:
                raise self._broken_off(error, "nothing was written") from error
        self._check_unchanged()
        show_line(f"shape {result.shape}, dtype {result.dtype}")
        show_line(np.array2string(result))

    def write_result(self, output: Path) -> None:
        """Write the result to a file as it is found."""
        reduction = self._reduction
        plan = self._plan()
        resumable = self._job.resume and plan is not None
        with raised_signals() as ignore_signals:
            try:
                part = PartFile(
                    output, reduction.result_shape, reduction.result_dtype, stays=resumable
                )
                with closing(part):
                    journal = ArrayJournal(part, self._facts()) if resumable else None
                    self._write(part, journal, plan, ignore_signals)
            except (Stopped, KeyboardInterrupt) as error:
                raise self._broken_off(error, "nothing was written") from error
        show_line(f"{output}: {reduction.result_dtype} {reduction.result_shape}")

    def _write(
        self,
        part: PartFile,
        journal: ArrayJournal | None,
        plan: BlockPlan | None,
        ignore_signals: Callable[[], None],
    ) -> None:
        plan, finished = self._begin(part, journal, plan)
        try:
            self._walk(part, plan, journal, finished)
            self._check_unchanged()
            whole = part.prepare()
            ignore_signals()
            part.finish(whole)
        except BaseException as error:
            self._put_away(error, part, journal)
            raise
        if journal is not None:
            journal.remove()

    def _begin(
        self, part: PartFile, journal: ArrayJournal | None, plan: BlockPlan | None
    ) -> tuple[BlockPlan | None, Finished]:
        """What is to be done, in what an earlier run left, or from nothing.

        What an earlier run left stays if it cannot be gone on with.
        """
        goes_on = journal is not None and journal.path.exists()
        try:
            if goes_on and journal is not None and plan is not None:
                return self._go_on(part, journal, plan)
            if journal is not None and plan is not None:
                if not part.is_new:
                    raise CommandError(
                        f"--resume: {part.path} is there without {journal.path}, so that it "
                        "cannot go on; delete it, or run without --resume"
                    )
                journal.begin(plan.lengths, Finished())
            part.reserve()
        except BaseException:
            if part.is_new:
                part.remove()
                if journal is not None and not goes_on:
                    journal.remove()
            raise
        return plan, Finished()

    def _go_on(
        self, part: PartFile, journal: ArrayJournal, plan: BlockPlan
    ) -> tuple[BlockPlan, Finished]:
        lengths, kept = journal.read()
        plan = self._in_blocks_of(lengths, plan, journal)
        dtype = self._reduction.partial_dtype(self._element_type)
        finished = journal.finished(kept, plan, dtype)
        if not finished.blocks:
            part.reserve()
        elif part.is_new:
            raise journal.unusable(f"{part.path} is gone")
        else:
            try:
                part.go_on()
            except (CommandError, ValueError) as error:
                raise journal.unusable(str(error)) from error
        journal.begin(lengths, finished)
        return plan, finished

    def _in_blocks_of(
        self, lengths: tuple[int, ...], plan: BlockPlan, journal: ArrayJournal
    ) -> BlockPlan:
        """The plan of the run that kept the journal, with as many readers as fit now."""
        needs = plan.needs
        if len(lengths) != len(needs.shape) or not all(
            1 <= n <= whole for n, whole in zip(lengths, needs.shape, strict=True)
        ):
            raise journal.unusable(f"blocks of {lengths} in it")
        least = 0
        for workers in range(needs.workers, 0, -1):
            found = BlockPlan(needs, lengths, workers)
            found = BlockPlan(needs, lengths, min(workers, found.blocks))
            least = needs.least_memory(lengths, found.workers) + self._aside
            if least <= self._left():
                return found
        raise self._too_little(least, f"the blocks that {journal.path} was begun with")

    def _walk(
        self,
        target: BlockTarget,
        plan: BlockPlan | None,
        journal: ArrayJournal | None = None,
        finished: Finished | None = None,
    ) -> None:
        if plan is None:
            return
        self._blocks, self._blocks_done = plan.blocks, len(finished.blocks) if finished else 0
        with ProgressBar(self._path.name) as bar:

            def show(progress: Progress) -> None:
                self._blocks_done = progress.blocks_done
                bar(progress)

            walk = BlockWalk(
                self._source,
                target,
                plan,
                self._reduction,
                threads=self._threads,
                progress=show,
                journal=journal,
                finished=finished,
            )
            try:
                walk.run()
            except OSError as error:
                raise self._in_words_of_the_command(error) from error

    def _in_words_of_the_command(self, error: OSError) -> CommandError:
        text = message_of(error)
        for argument, name in (
            ("data", self._job.source),
            ("out", f"--output: {self._job.output}"),
        ):
            if text.startswith(f"{argument}: "):
                text = f"{name}{text.removeprefix(argument)}"
        return CommandError(text)

    def _left(self) -> int:
        """What the walk may take of the memory."""
        return max(0, self._job.memory - self._resident)

    def _plan(self, result_bytes: int = 0) -> BlockPlan | None:
        """None where there is nothing to read. So many bytes are taken for the result."""
        if 0 in self._source.shape:
            return None
        taken = self._aside + result_bytes

        try:
            return plan_of(
                self._source,
                self._element_type,
                self._reduction,
                self._threads,
                self._left(),
                taken,
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

    def _too_little(self, least: int, what: str) -> CommandError:
        works = size_text(self._resident + least + _UNEVEN_BYTES).replace(" ", "")
        return CommandError(
            f"--memory: {size_text(self._job.memory)} is too little for {what}, beside "
            f"{size_text(self._resident)} that the process has before; the least that works is "
            f"--memory {works}"
        )

    def _check_unchanged(self) -> None:
        if identity_of(self._path) != self._identity:
            raise _ChangedInputError(
                f"{self._path}: it changed while it was read, so the result is of no use and was "
                "not kept; run again when nobody writes to it"
            )

    def _put_away(
        self, error: BaseException, part: PartFile, journal: ArrayJournal | None
    ) -> None:
        """Keep what another run can go on with, and say so; else leave nothing."""
        changed = isinstance(error, _ChangedInputError)
        if journal is None or journal.blocks_kept == 0 or changed:
            part.remove()
            if journal is not None:
                journal.remove()
            return
        words = f"what is done is kept in {journal.files}; the same command goes on from there"
        if isinstance(error, (Stopped, KeyboardInterrupt)):
            self._blocks_done = journal.blocks_kept
            raise self._broken_off(error, words) from error
        if isinstance(error, Exception):
            raise CommandError(f"{message_of(error)}; {words}") from error

    def _broken_off(self, error: BaseException, words: str) -> BrokenOffError:
        number = error.number if isinstance(error, Stopped) else signal.SIGINT
        percent = 100 * self._blocks_done / max(self._blocks, 1)
        return BrokenOffError(
            f"{self._job.source}: interrupted by {signal.Signals(number).name} after "
            f"{self._blocks_done} of {self._blocks} blocks ({percent:.1f} %); {words}",
            number,
        )

    def _facts(self) -> Facts:
        job, reduction = self._job, self._reduction
        return {
            "the format": _JOURNAL_FORMAT,
            "the package's version": __version__,
            "the input": os.path.abspath(job.source),
            "the input's contents": self._identity,
            "the input's shape": list(reduction.shape),
            "the input's dtype": str(self._source.dtype),
            "the input's element type": str(self._element_type),
            "--axis": reduction.axis,
            "--keepdims": reduction.keepdims,
            "--select-last-index": reduction.select_last_index,
            "--dtype": str(reduction.result_dtype),
            "--bfloat16": job.bfloat16,
        }


class _ChangedInputError(CommandError):
    pass
