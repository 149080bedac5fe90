# SPDX-License-Identifier: Apache-2.0
"""``onnx-argmax array``: ArgMax of an array in a file or a store, of any size."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final

import numpy as np

from onnx_argmax import __version__
from onnx_argmax._block_plan import BlockPlan
from onnx_argmax._block_sources import BlockSource, block_source
from onnx_argmax._block_targets import BlockTarget, block_target
from onnx_argmax._block_walk import BlockWalk, Finished
from onnx_argmax._element_types import ElementType
from onnx_argmax._reductions import Reduction
from onnx_argmax.cli.array_journal import ArrayJournal, Facts
from onnx_argmax.cli.array_output import PartFile, refuse_aside
from onnx_argmax.cli.array_plan import ArrayJob, ArrayMemory
from onnx_argmax.cli.errors import CommandError, message_of, printable
from onnx_argmax.cli.files import bfloat16_view, read_source, source_path
from onnx_argmax.cli.input_identity import identity_of
from onnx_argmax.cli.interruption import (
    BrokenOffError,
    Stopped,
    held_signals,
    raised_signals,
)
from onnx_argmax.cli.outputs import check_writable
from onnx_argmax.cli.progress import ProgressBar
from onnx_argmax.cli.standard_output import check_open
from onnx_argmax.cli.tables import show_line
from onnx_argmax.cli.zarr_output import zarr_of_format_3
from onnx_argmax.outofcore import Progress

__all__ = ["ArrayJob", "argmax_of_file"]

_JOURNAL_FORMAT: Final = 1


def argmax_of_file(job: ArrayJob) -> None:
    """Read the array, reduce it, and write the result or print it.

    Raises
    ------
    CommandError, OSError, TypeError, ValueError
        For whatever is wrong with the source, the output or the memory.
    BrokenOffError
        When a signal asks for an end.
    """
    with raised_signals(ends_process=job.ends_process) as ignore_signals:
        try:
            _reduce(job, ignore_signals)
        except (Stopped, KeyboardInterrupt) as error:
            raise _broken_off(job, error, "before the first block; nothing was written") from error


def _reduce(job: ArrayJob, ignore_signals: Callable[[], None]) -> None:
    path = source_path(job.source)
    if job.output is None:
        check_open()
    else:
        with held_signals():  # it makes a file, and may have Zarr look at one
            check_writable(job.output, keep=[path])
        if job.to_zarr:
            refuse_aside(job.output)
            zarr_of_format_3()  # before the work, and before the memory is looked at
    identity = identity_of(path, job.source)
    with _opened(job, path) as stored:
        source, element_type = block_source(stored, _view(job, np.dtype(stored.dtype)))
        with closing(source):
            reduction = Reduction.checked(
                source.shape, job.axis, job.keepdims, job.select_last_index, job.dtype, None
            )
            work = _Work(job, path, identity, source, element_type, reduction, ignore_signals)
            if job.output is None:
                work.print_result()
            else:
                work.write_result(job.output)


@contextmanager
def _opened(job: ArrayJob, path: Path) -> Generator[Any]:
    with ExitStack() as stack:
        # Zarr's own threads would go on with what was broken off. An archive is read as a whole
        # here, which takes its time.
        with held_signals() if path.is_dir() else nullcontext():
            stored = stack.enter_context(read_source(job.source))
        yield stored


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
        ignore_signals: Callable[[], None],
    ) -> None:
        self._job, self._path, self._identity = job, path, identity
        self._source, self._element_type, self._reduction = source, element_type, reduction
        self._ignore_signals = ignore_signals
        self._memory = ArrayMemory(job, source, element_type, reduction)
        self._blocks = self._blocks_done = 0

    def print_result(self) -> None:
        """Hold the result in memory and print it."""
        reduction = self._reduction
        needed = math.prod(reduction.result_shape) * reduction.result_dtype.itemsize
        plan = self._memory.plan(needed)
        result = np.empty(reduction.result_shape, reduction.result_dtype)
        try:
            self._walk(block_target(result), plan)
        except (Stopped, KeyboardInterrupt) as error:
            raise self._broken_off(error, "nothing was written") from error
        self._check_unchanged()
        show_line(f"shape {result.shape}, dtype {result.dtype}")
        show_line(np.array2string(result))
        self._ignore_signals()

    def write_result(self, output: Path) -> None:
        """Write the result to a file as it is found, and say that it stands."""
        reduction = self._reduction
        plan = self._memory.plan()
        resumable = self._job.resume and plan is not None
        try:
            with ExitStack() as stack:
                with held_signals():  # until somebody knows of the file
                    part = PartFile(
                        output, reduction.result_shape, reduction.result_dtype, stays=resumable
                    )
                    stack.callback(part.close)
                    if not resumable:
                        stack.callback(part.remove)
                notes = self._write(part, resumable, plan)
        except (Stopped, KeyboardInterrupt) as error:
            raise self._broken_off(error, "nothing was written") from error
        name = printable(str(output))
        line = f"{name}: {reduction.result_dtype} {reduction.result_shape}{notes}"
        try:
            show_line(line)
        except CommandError as error:
            raise CommandError(f"{error}; the result stands: {line}") from error

    def _write(self, part: PartFile, resumable: bool, plan: BlockPlan | None) -> str:
        """What the user is to know beside the result's name and type."""
        journal, goes_on = None, False
        try:
            journal = ArrayJournal(part, self._facts()) if resumable else None
            goes_on = journal is not None and journal.path.exists()
            if goes_on and journal is not None and plan is not None:
                lengths = journal.read()
                if journal.take_finished():
                    self._ignore_signals()
                    return "; an earlier run had finished it, nothing was read again"
                plan, finished = self._go_on(part, journal, plan, lengths)
            else:
                finished = self._begin(part, journal, plan)
        except BaseException as error:
            if goes_on and journal is not None and isinstance(error, (Stopped, KeyboardInterrupt)):
                raise self._broken_off(error, _kept_in(journal)) from error
            # What an earlier run left stays if it cannot be gone on with.
            if part.is_new:
                part.remove()
                if journal is not None and not goes_on:
                    journal.remove()
            raise
        try:
            self._walk(part, plan, journal, finished)
            self._check_unchanged()
            whole = part.prepare()
            self._ignore_signals()
            if journal is not None and plan is not None:
                journal.conclude(plan.blocks, whole)
            notes = part.finish(whole)
        except BaseException as error:
            self._put_away(error, part, journal)
            raise
        return notes + ("" if journal is None else _removed(journal))

    def _begin(
        self, part: PartFile, journal: ArrayJournal | None, plan: BlockPlan | None
    ) -> Finished:
        if journal is not None and plan is not None:
            if not part.is_new:
                raise CommandError(
                    f"--resume: {part.path} is there without {journal.path}, so that it "
                    "cannot go on; delete it, or run without --resume"
                )
            journal.begin(plan.lengths, Finished())
        part.reserve()
        return Finished()

    def _go_on(
        self, part: PartFile, journal: ArrayJournal, plan: BlockPlan, lengths: tuple[int, ...]
    ) -> tuple[BlockPlan, Finished]:
        plan = self._memory.plan_in_blocks_of(lengths, plan, journal.path, journal.unusable)
        dtype = self._reduction.partial_dtype(self._element_type)
        finished = journal.finished(plan, dtype, self._memory.left)
        if not finished.blocks:
            part.reserve()
        elif part.is_new:
            raise journal.unusable(f"{part.path} is gone")
        else:
            try:
                part.go_on()
            except (CommandError, OSError, ValueError) as error:
                raise journal.unusable(message_of(error)) from error
        journal.begin(lengths, finished)
        return plan, finished

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
                threads=self._memory.threads,
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

    def _check_unchanged(self) -> None:
        if identity_of(self._path, self._job.source) != self._identity:
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
        words = _kept_in(journal)
        if isinstance(error, (Stopped, KeyboardInterrupt)):
            self._blocks_done = journal.blocks_kept
            raise self._broken_off(error, words) from error
        if isinstance(error, Exception):
            raise CommandError(f"{message_of(error)}; {words}") from error

    def _broken_off(self, error: BaseException, words: str) -> BrokenOffError:
        where = "before the first block"
        if self._blocks:
            percent = 100 * self._blocks_done / self._blocks
            where = f"after {self._blocks_done} of {self._blocks} blocks ({percent:.1f} %)"
        return _broken_off(self._job, error, f"{where}; {words}")

    def _facts(self) -> Facts:
        job, reduction = self._job, self._reduction
        return {
            "the format": _JOURNAL_FORMAT,
            "the package's version": __version__,
            "the input": os.path.abspath(job.source),
            "the input's files": self._identity,
            "the input's shape": list(reduction.shape),
            "the input's dtype": str(self._source.dtype),
            "the input's element type": str(self._element_type),
            "--axis": reduction.axis,
            "--keepdims": reduction.keepdims,
            "--select-last-index": reduction.select_last_index,
            "--dtype": str(reduction.result_dtype),
            "--bfloat16": job.bfloat16,
        }


def _broken_off(job: ArrayJob, error: BaseException, words: str) -> BrokenOffError:
    number = error.number if isinstance(error, Stopped) else signal.SIGINT
    return BrokenOffError(
        f"{job.source}: interrupted by {signal.Signals(number).name} {words}", number
    )


def _kept_in(journal: ArrayJournal) -> str:
    return f"what is done is kept in {journal.files}; the same command goes on from there"


def _removed(journal: ArrayJournal) -> str:
    try:
        journal.remove()
    except OSError as error:
        return f"; {journal.path}, which is of no use now, cannot be deleted: {error.strerror}"
    return ""


class _ChangedInputError(CommandError):
    pass
