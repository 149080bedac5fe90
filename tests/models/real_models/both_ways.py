# SPDX-License-Identifier: Apache-2.0
"""Models run by ONNX Runtime alone and with the provider, in a process of their own.

The provider's library stays registered until a process ends, so no test does it in pytest's.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import onnx
from numpy.typing import NDArray

from programs import run_program
from real_models.profiles import NodeRun, argmax_runs

__all__ = ["Job", "Outcome", "run_both_ways"]

Feed: TypeAlias = Mapping[str, NDArray[Any]]
Outputs: TypeAlias = list[NDArray[Any]]

_JOBS: Final = "jobs.pickle"
_OUTCOMES: Final = "outcomes.pickle"
_ONLY_ERRORS: Final = 3


@dataclass(frozen=True)
class Job:
    """A model, and the inputs of each of its runs."""

    model: onnx.ModelProto
    feeds: Sequence[Feed]
    alone: bool = True
    """Whether ONNX Runtime alone runs it too; it lacks some types."""


@dataclass(frozen=True)
class Outcome:
    """What came of a job."""

    alone: list[Outputs] | None
    """The outputs of each run by ONNX Runtime alone."""
    ours: list[Outputs]
    """The outputs of each run with the provider."""
    node_runs: list[NodeRun]
    """Every run of an ArgMax with the provider, by the runtime's own profile."""
    claims: list[tuple[str, bool, str]]
    """Name, whether the provider takes it, and why not: of each ArgMax, before any run."""
    provider: str
    """The provider's name."""

    def checked(self, nodes: int) -> list[Outputs]:
        """The outputs, after the assertions that hold for every model.

        Each of the model's ArgMax nodes is claimed and was run by the provider, once in each
        run, and all outputs are equal to those of ONNX Runtime alone.
        """
        assert [claimed for _, claimed, _ in self.claims] == [True] * nodes, self.claims
        assert {run.provider for run in self.node_runs} == {self.provider}, self.node_runs
        assert len(self.node_runs) == nodes * len(self.ours), self.node_runs
        if self.alone is not None:
            for ours, alone in zip(self.ours, self.alone, strict=True):
                for our, other in zip(ours, alone, strict=True):
                    np.testing.assert_array_equal(our, other, strict=True)
        return self.ours


def run_both_ways(jobs: Sequence[Job], folder: Path) -> list[Outcome]:
    """Run the jobs in one process of their own, which writes into the folder."""
    packed = [(job.model.SerializeToString(), job.feeds, job.alone) for job in jobs]
    (folder / _JOBS).write_bytes(pickle.dumps(packed))
    run_program(
        f"""
        import sys
        from pathlib import Path

        sys.path.insert(0, {str(Path(__file__).parents[1])!r})
        from real_models import both_ways

        both_ways.run_in_this_process(Path({str(folder)!r}))
        """
    )
    return pickle.loads((folder / _OUTCOMES).read_bytes())


def run_in_this_process(folder: Path) -> None:
    """What the process of its own does."""
    jobs: list[tuple[bytes, Sequence[Feed], bool]] = pickle.loads((folder / _JOBS).read_bytes())
    # All of them alone first, while the runtime has not heard of the provider yet.
    alone = [_run_alone(model, feeds) if also else None for model, feeds, also in jobs]
    outcomes = [
        _run_with_ours(model, feeds, outputs, folder)
        for (model, feeds, _), outputs in zip(jobs, alone, strict=True)
    ]
    (folder / _OUTCOMES).write_bytes(pickle.dumps(outcomes))


def _run_alone(model: bytes, feeds: Sequence[Feed]) -> list[Outputs]:
    import onnxruntime

    options: Any = onnxruntime.SessionOptions()
    options.log_severity_level = _ONLY_ERRORS
    session: Any = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return [session.run(None, feed) for feed in feeds]


def _run_with_ours(
    model: bytes, feeds: Sequence[Feed], alone: list[Outputs] | None, folder: Path
) -> Outcome:
    import onnxruntime

    from onnx_argmax import ort

    options: Any = onnxruntime.SessionOptions()
    options.log_severity_level = _ONLY_ERRORS
    options.enable_profiling = True
    options.profile_file_prefix = str(folder / "profile")
    session: Any = ort.InferenceSession(model, options)
    ours = [session.run(None, feed) for feed in feeds]
    return Outcome(
        alone=alone,
        ours=ours,
        node_runs=argmax_runs(Path(session.end_profiling())),
        claims=[(claim.name, claim.claimed, claim.reason) for claim in ort.claimed_nodes(model)],
        provider=ort.get_ep_name(),
    )
