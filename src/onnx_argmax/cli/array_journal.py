# SPDX-License-Identifier: Apache-2.0
"""What is finished of ``onnx-argmax array``, kept in a file that a later run goes on from."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from onnx_argmax._block_plan import BlockPlan
from onnx_argmax._block_walk import Finished
from onnx_argmax._boxes import lengths_of
from onnx_argmax.cli.array_output import PartFile
from onnx_argmax.cli.errors import CommandError
from onnx_argmax.cli.files import names_in_npz, read_npz
from onnx_argmax.cli.outputs import replaced_by, write_npz

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
_STATE: Final = "state_"


class ArrayJournal:
    """The file of what is finished, a ``.npz``, beside the output.

    Parameters
    ----------
    part
        Where the result lies meanwhile, which is synced before what it holds counts as finished.
    facts
        Of this run.
    """

    def __init__(self, part: PartFile, facts: Facts) -> None:
        self._part, self._facts = part, json.loads(json.dumps(facts))
        self._target = replaced_by(part.output)
        self.path = self._target.with_name(f"{self._target.name}.resume")
        self.blocks_kept = 0
        self._lengths: tuple[int, ...] = ()
        self._due = 0.0

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
        arrays = {f"{_STATE}{number}": state for number, state in finished.states.items()}
        facts = json.dumps(self._facts).encode()
        arrays[_FACTS] = np.frombuffer(facts, np.uint8)
        arrays[_LENGTHS] = np.array(self._lengths, np.int64)
        arrays[_BLOCKS] = _runs(finished.blocks)
        write_npz(self.path, arrays, part=self.path.with_name(f"{self.path.name}.part"))
        self.blocks_kept = len(finished.blocks)
        now = time.monotonic()
        self._due = now + max(_LEAST_SECONDS, _SHARE * (now - begun))

    def remove(self) -> None:
        """Have it gone."""
        self.path.unlink(missing_ok=True)

    def read(self) -> tuple[tuple[int, ...], dict[str, Any]]:
        """Lengths of the blocks of the run that kept it, and what that run had finished.

        Raises
        ------
        CommandError
            When it is damaged, or of a run that something was different for.
        """
        try:
            arrays = read_npz(self.path, names_in_npz(self.path))
            facts = json.loads(arrays.pop(_FACTS).tobytes())
            lengths = tuple(int(n) for n in arrays.pop(_LENGTHS).tolist())
            if not isinstance(facts, dict):
                raise TypeError("no facts in it")
        except (CommandError, KeyError, TypeError, ValueError) as error:
            raise self.unusable(str(error)) from error
        self._compare(facts)
        return lengths, arrays

    def finished(self, kept: dict[str, Any], plan: BlockPlan, dtype: np.dtype[Any]) -> Finished:
        """What :meth:`read` gave, for a walk of this plan with partial results of this type.

        Raises
        ------
        CommandError
            When it cannot be of such a walk.
        """
        try:
            runs = kept.pop(_BLOCKS).tolist()
            blocks = {n for start, stop in runs for n in range(start, min(stop, plan.blocks + 1))}
            states = {int(name.removeprefix(_STATE)): state for name, state in kept.items()}
            if blocks and not 0 <= min(blocks) <= max(blocks) < plan.blocks:
                raise ValueError("blocks in it that there are not")
            self._check_states(states, blocks, plan, dtype)
        except (KeyError, TypeError, ValueError) as error:
            raise self.unusable(str(error)) from error
        self.blocks_kept = len(blocks)
        return Finished(blocks, states)

    def _check_states(
        self, states: dict[int, Any], blocks: set[int], plan: BlockPlan, dtype: np.dtype[Any]
    ) -> None:
        for number, state in states.items():
            if not 0 <= number < plan.tiles:
                raise ValueError(f"a partial result {number}, which there is not")
            lengths = lengths_of(plan.tile_box(number))
            shape = tuple(
                1 if plan.needs.is_reduced(axis) else n for axis, n in enumerate(lengths)
            )
            if state.dtype != dtype or state.shape != shape:
                raise ValueError(f"a partial result of shape {state.shape}, not {shape}")
        parts = plan.parts
        for tile in {number // parts for number in blocks} - states.keys():
            if not all(n in blocks for n in range(tile * parts, (tile + 1) * parts)):
                raise ValueError(f"no partial result of tile {tile}")

    def _compare(self, facts: Facts) -> None:
        for name in [*self._facts, *(name for name in facts if name not in self._facts)]:
            was, now = facts.get(name), self._facts.get(name)
            if was == now:
                continue
            words = "changed" if isinstance(was, list) else f"was {was!r} and is {now!r}"
            raise CommandError(
                f"--resume: {self.path}: {name} {words} since it was begun, so that it cannot go "
                f"on; {self._way_out()}"
            )

    def unusable(self, reason: str) -> CommandError:
        """The error for a journal that nothing can go on from."""
        reason = reason.removeprefix(f"{self.path}").lstrip(": ")
        return CommandError(f"--resume: {self.path} cannot be used: {reason}; {self._way_out()}")

    def _way_out(self) -> str:
        return f"delete {self.files}, or run without --resume"


def _runs(numbers: Iterable[int]) -> np.ndarray[Any, Any]:
    """Numbers as pairs of a first and a last one (exclusive), of which there are few."""
    ordered = np.array(sorted(numbers), np.int64)
    ends = np.flatnonzero(np.diff(ordered) != 1)
    starts = ordered[np.concatenate(([0], ends + 1))] if ordered.size else ordered
    stops = ordered[np.concatenate((ends, [-1]))] + 1 if ordered.size else ordered
    return np.stack((starts, stops), axis=1)
