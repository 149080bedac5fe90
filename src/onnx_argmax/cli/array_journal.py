# SPDX-License-Identifier: Apache-2.0
"""What is finished of ``onnx-argmax array``, kept in a file that a later run goes on from."""

from __future__ import annotations

import json
import math
import re
import reprlib
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np

from onnx_argmax._block_plan import BlockPlan
from onnx_argmax._block_walk import Finished
from onnx_argmax._boxes import lengths_of
from onnx_argmax._memory_size import size_text
from onnx_argmax._partial import Partials
from onnx_argmax.cli.array_output import PartFile
from onnx_argmax.cli.errors import CommandError
from onnx_argmax.cli.input_identity import identity_of
from onnx_argmax.cli.journal_file import JournalFile, opened_journal
from onnx_argmax.cli.outputs import what_is_there, write_npz

__all__ = ["ArrayJournal", "Facts"]

Facts = dict[str, Any]
"""What must be the same in a run that goes on, by the name that a message has for it."""

_LEAST_SECONDS: Final = 2.0
"""Between two times that are kept: as much is done again at most after a kill."""
_SHARE: Final = 20
"""At most one part in so many of the time is spent on keeping."""

_FACTS: Final = "facts"
_LENGTHS: Final = "lengths"
_BLOCKS: Final = "blocks"
_STATE: Final = re.compile(r"state_(0|[1-9][0-9]{0,18})")
_WHOLE: Final = "whole"
"""The key of the facts for the name and the identity of a result that only lacks its name."""

_MOST_FACTS: Final = 1 << 20
"""Bytes of them: paths are the longest."""
_MOST_AXES: Final = 64
"""Of an array of NumPy's."""
_NUMBER_BYTES: Final = 100
"""A number in a set."""


class ArrayJournal:
    """The file of what is finished, a ``.npz``, beside the output.

    Parameters
    ----------
    part
        Where the result lies meanwhile, which is synced before what it holds counts as finished.
    facts
        Of this run.

    Raises
    ------
    CommandError
        When something else has its name.
    """

    def __init__(self, part: PartFile, facts: Facts) -> None:
        self._part, self._facts = part, json.loads(json.dumps(facts))
        self.path = part.target.with_name(f"{part.target.name}.resume")
        self.blocks_kept = 0
        self._lengths: tuple[int, ...] = ()
        self._whole: list[Any] | None = None
        self._due = 0.0
        there = what_is_there(self.path)
        if there is not None:
            raise CommandError(
                f"--resume: {self.path} is {there}, where a file belongs that tells what is done; "
                "delete that or move it away, or run without --resume"
            )

    @property
    def files(self) -> str:
        """Both files, for a message."""
        return f"{self._part.path} and {self.path}"

    def begin(self, lengths: tuple[int, ...], finished: Finished) -> None:
        """Keep with blocks of so many elements from now on."""
        self._lengths = lengths
        self.keep(finished)

    def is_due(self) -> bool:
        """Whether it is time to keep."""
        return time.monotonic() >= self._due

    def keep(self, finished: Finished) -> None:
        """Write what is finished; the file of before stays until that is done.

        Raises
        ------
        CommandError, OSError
            When it cannot be written.
        """
        begun = time.monotonic()
        if finished.blocks:
            self._part.sync()
        arrays = {f"state_{number}": state for number, state in finished.states.items()}
        facts = json.dumps({**self._facts, _WHOLE: self._whole}).encode()
        arrays[_FACTS] = np.frombuffer(facts, np.uint8)
        arrays[_LENGTHS] = np.array(self._lengths, np.int64)
        arrays[_BLOCKS] = _runs(finished.blocks)
        write_npz(self.path, arrays, part=self.path.with_name(f"{self.path.name}.part"))
        self.blocks_kept = len(finished.blocks)
        now = time.monotonic()
        self._due = now + max(_LEAST_SECONDS, _SHARE * (now - begun))

    def conclude(self, blocks: int, whole: Path) -> None:
        """Keep that all blocks are done, and that the result only lacks its name."""
        self._whole = [whole.name, identity_of(whole)]
        self.keep(Finished(set(range(blocks))))

    def remove(self) -> None:
        """Have it gone."""
        self.path.unlink(missing_ok=True)

    def read(self) -> tuple[int, ...]:
        """Lengths of the blocks of the run that kept it.

        Raises
        ------
        CommandError
            When it is damaged, or of a run that something was different for.
        """
        try:
            with opened_journal(self.path) as file:
                content = file.read(_FACTS, np.uint8, _MOST_FACTS)
                facts = _parsed(content.tobytes())
                lengths = file.read(_LENGTHS, np.int64, _MOST_AXES)
        except (OSError, ValueError) as error:
            raise self.unusable(_reason(error)) from error
        whole = facts.pop(_WHOLE, None)
        if not self._facts.keys() & facts.keys():
            raise self.unusable("this command did not write it")
        self._compare(facts)
        self._whole = whole if isinstance(whole, list) and len(whole) == 2 else None
        return tuple(lengths.reshape(-1).tolist())

    def take_finished(self) -> bool:
        """Whether the run that kept it was killed when the result had its name already.

        Then nothing of that run is left but the result. Else what it made to give it the name is
        gone, and is made anew.
        """
        if self._whole is None:
            return False
        name, identity = self._whole
        self._whole = None
        has_name = identity is not None and identity_of(self._part.target) == identity
        self._part.forget(str(name))
        if has_name:
            self._part.remove()
            self.remove()
        return has_name

    def finished(self, plan: BlockPlan, dtype: np.dtype[Any], most_bytes: int) -> Finished:
        """What was finished, for a walk of this plan with partial results of this type.

        Raises
        ------
        CommandError
            When it cannot be of such a walk, or would take more memory.
        """
        try:
            with opened_journal(self.path) as file:
                blocks = self._blocks_in(file, plan, most_bytes)
                states = self._states_in(file, plan, dtype, most_bytes)
            _check_tiles(blocks, states, plan)
        except (OSError, ValueError) as error:
            raise self.unusable(_reason(error)) from error
        self.blocks_kept = len(blocks)
        return Finished(blocks, states)

    def _blocks_in(self, file: JournalFile, plan: BlockPlan, most_bytes: int) -> set[int]:
        runs = file.read(_BLOCKS, np.int64, plan.blocks + 2)
        if runs.ndim != 2 or runs.shape[1] != 2:
            raise ValueError(f"damaged: blocks of shape {runs.shape}")
        starts, stops = runs[:, 0], runs[:, 1]
        outer = np.concatenate(([0], stops)), np.concatenate((starts, [plan.blocks]))
        if np.any(starts >= stops) or np.any(outer[0] > outer[1]):
            raise ValueError(f"damaged: blocks in it that there are not, of {plan.blocks}")
        count = int((stops - starts).sum())
        if count * _NUMBER_BYTES > most_bytes:
            raise ValueError(
                f"{count} blocks are done in it, whose numbers take "
                f"{size_text(count * _NUMBER_BYTES)}, more than the {size_text(most_bytes)} that "
                "--memory leaves"
            )
        return {n for start, stop in runs.tolist() for n in range(start, stop)}

    def _states_in(
        self, file: JournalFile, plan: BlockPlan, dtype: np.dtype[Any], most_bytes: int
    ) -> dict[int, Partials]:
        numbers: dict[int, str] = {}
        for name in file.names:
            match = _STATE.fullmatch(name)
            if match is not None:
                numbers[int(match[1])] = name
            elif name not in (_FACTS, _LENGTHS, _BLOCKS):
                raise ValueError(f"this command did not write it: it holds {name[:40]!r}")
        states: dict[int, Partials] = {}
        left = most_bytes
        for number, name in numbers.items():
            if number >= plan.tiles:
                raise ValueError(f"damaged: a partial result {number}, which there is not")
            lengths = lengths_of(plan.tile_box(number))
            shape = tuple(
                1 if plan.needs.is_reduced(axis) else n for axis, n in enumerate(lengths)
            )
            left -= plan.needs.positions(lengths) * dtype.itemsize
            if left < 0:
                raise ValueError(
                    f"its {len(numbers)} partial results take more than the "
                    f"{size_text(most_bytes)} that --memory leaves"
                )
            state = file.read(name, dtype, plan.needs.positions(lengths))
            if state.shape != shape:
                raise ValueError(f"damaged: a partial result of shape {state.shape}, not {shape}")
            _check_indices(state, plan)
            states[number] = state
        return states

    def _compare(self, facts: Facts) -> None:
        for name in self._facts:
            was, now = facts.get(name), self._facts.get(name)
            if was == now:
                continue
            if isinstance(was, list):
                words = "changed"
            else:
                words = f"was {_shown.repr(was)} and is {_shown.repr(now)}"
            raise CommandError(
                f"--resume: {self.path}: {name} {words} since it was begun, so that it cannot go "
                f"on; {self._way_out()}"
            )

    def unusable(self, reason: str) -> CommandError:
        """The error for a journal that nothing can go on from."""
        return CommandError(f"--resume: {self.path} cannot be used: {reason}; {self._way_out()}")

    def _way_out(self) -> str:
        files = self.path if self._part.is_new else self.files
        return f"delete {files}, or run without --resume, which leaves them"


_shown = reprlib.Repr()
"""Of a foreign file, which may hold anything."""
_shown.maxstring = _shown.maxother = 300


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return f"it cannot be read: {error.strerror or error}"
    return str(error)


def _parsed(content: bytes) -> Facts:
    try:
        facts = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"damaged: its facts are no JSON: {error}") from error
    if not isinstance(facts, dict):
        raise ValueError("this command did not write it: there are no facts in it")
    return facts


def _check_indices(state: Partials, plan: BlockPlan) -> None:
    shape, axis = plan.needs.shape, plan.needs.axis
    length = math.prod(shape) if axis is None else shape[axis]
    if state.size and not 0 <= state["index"].min() <= state["index"].max() < length:
        raise ValueError(f"damaged: an index that is none of the {length} elements of the axis")


def _check_tiles(blocks: set[int], states: dict[int, Partials], plan: BlockPlan) -> None:
    parts = plan.parts
    begun = {number // parts for number in blocks}
    if not begun >= states.keys():
        raise ValueError("damaged: a partial result of no block")
    for tile in begun - states.keys():
        if not all(n in blocks for n in range(tile * parts, (tile + 1) * parts)):
            raise ValueError(f"damaged: no partial result of tile {tile}")


def _runs(numbers: Iterable[int]) -> np.ndarray[Any, Any]:
    """Numbers as pairs of a first and a last one (exclusive), of which there are few."""
    ordered = np.array(sorted(numbers), np.int64)
    ends = np.flatnonzero(np.diff(ordered) != 1)
    starts = ordered[np.concatenate(([0], ends + 1))] if ordered.size else ordered
    stops = ordered[np.concatenate((ends, [-1]))] + 1 if ordered.size else ordered
    return np.stack((starts, stops), axis=1)
