# SPDX-License-Identifier: Apache-2.0
"""Which ArgMax nodes of a model the execution provider takes, by asking ONNX Runtime."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import onnx

from onnx_argmax._models import read_model
from onnx_argmax._ort_library import PROVIDER, runtime
from onnx_argmax._ort_marks import Assignment, Marks, assignment, write_optimized
from onnx_argmax._ort_options import EXTERNAL_DATA_FOLDER, session_options
from onnx_argmax._ort_session import source_of

__all__ = ["NodeClaim", "claimed_nodes"]

_ONLY_FATAL: Final = 4
_FOLDING: Final = "ConstantFolding"
_MERGING: Final = "CommonSubexpressionElimination"
"""ONNX Runtime's names of optimisations; the first one also opens an If."""

_FOLDED: Final = (
    "removed by ONNX Runtime's constant folding: its input is constant, or its branch is never "
    "taken"
)
_OPTIMIZED_AWAY: Final = (
    "removed by ONNX Runtime's graph optimisation, as a node that gives the same as another is"
)
_NOT_IN_GRAPH: Final = "not in the graph that runs: nothing calls its function"


@dataclass(frozen=True, slots=True)
class NodeClaim:
    """One ArgMax node of a model, and whether the provider takes it."""

    name: str
    """Name of the node; its position and output where it has none."""
    graph: str
    """Where it lies: ``"graph"`` for the main one, else whose subgraph or which function it is
    (``"graph, then_branch of If (node 3)"``, ``"function local.Pick"``)."""
    claimed: bool
    """Whether the provider runs it; in a function that is called several times, every time."""
    reason: str
    """Why not; empty where it is claimed."""


@dataclass(frozen=True, slots=True)
class _Sessions:
    """The sessions of a model that are asked; none of them runs."""

    content: bytes
    """The marked model."""
    folder: Path | None
    """Where its external data lies."""
    marks: Marks

    def assignment(self, without: str | None = None, *, optimized: bool = True) -> Assignment:
        """Who has which node in a session without one optimisation, or without any."""

        def session(file: Path | None = None) -> Any:
            options = self._options(optimized=optimized)
            if file is not None:
                write_optimized(options, file)
            return runtime().InferenceSession(
                self.content,
                session_options(options),
                enable_fallback=0,
                disabled_optimizers=None if without is None else {without},
            )

        return assignment(session(), self.marks, session)

    def _options(self, *, optimized: bool) -> Any:
        onnxruntime = runtime()
        options = onnxruntime.SessionOptions()
        options.log_severity_level = _ONLY_FATAL
        if self.folder is not None:
            options.add_session_config_entry(EXTERNAL_DATA_FOLDER, str(self.folder))
        if not optimized:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        return options


def claimed_nodes(model: object) -> list[NodeClaim]:
    """Which ArgMax nodes of a model the provider takes, and why not the others.

    ONNX Runtime is asked: it loads the model with the provider, as :class:`InferenceSession`
    does, and says what became of each node. Nothing is run.

    Parameters
    ----------
    model : str, path, bytes or onnx.ModelProto
        The model, or its file.

    Returns
    -------
    list of NodeClaim
        One for each ArgMax of the model, those in subgraphs and functions included.

    Raises
    ------
    ImportError
        When onnxruntime is missing or older than 1.24, or onnx is missing.
    TypeError
        When ``model`` is none.
    OSError
        When the file cannot be read.
    ValueError
        When it is no ONNX model.
    Exception
        Of onnxruntime's own kinds, for a model that it refuses.

    Notes
    -----
    Where ONNX Runtime opens an If, as its condition is constant, it tells the nodes apart in the
    optimised model alone, which is written to a temporary folder for that, weights included.
    """
    proto, folder = _load(model)
    marks = Marks(proto)
    if not marks.labels:
        return []
    sessions = _Sessions(proto.SerializeToString(), folder, marks)
    kept = sessions.assignment()
    nodes = range(len(marks.labels))
    missing = [node for node in nodes if node not in kept.providers]
    reasons = _reasons(missing, sessions, kept.doubt) if missing else {}
    return [
        _claim(marks, node, kept.providers.get(node, set()), reasons.get(node, ""))
        for node in nodes
    ]


def _reasons(missing: list[int], sessions: _Sessions, doubt: str) -> dict[int, str]:
    """Why nodes are not in the session: because of what brings them back."""
    plain = sessions.assignment(optimized=False).providers
    if doubt:
        return {node: doubt if node in plain else _NOT_IN_GRAPH for node in missing}
    reasons = {node: _OPTIMIZED_AWAY if node in plain else _NOT_IN_GRAPH for node in missing}
    unfolded = sessions.assignment(_FOLDING).providers
    folded = [node for node in missing if node in unfolded]
    if folded:
        # Folding opens an If, whose nodes may then be merged with others.
        unmerged = sessions.assignment(_MERGING).providers
        reasons |= {node: _FOLDED for node in folded if node not in unmerged}
    return reasons


def _load(model: object) -> tuple[onnx.ModelProto, Path | None]:
    """A model of our own, and the folder of its external data."""
    source = source_of(model)
    if isinstance(source, bytes):
        proto = onnx.ModelProto()
        try:
            proto.ParseFromString(source)
        except Exception as error:  # protobuf's own, by another name in each release
            raise ValueError(f"model: not an ONNX model: {error}") from error
        if not proto.HasField("graph"):
            raise ValueError("model: not an ONNX model: it has no graph")
        return proto, None
    return read_model(Path(source)), Path(source).absolute().parent


def _claim(marks: Marks, node: int, owners: set[str], reason: str) -> NodeClaim:
    others = sorted(owners - {PROVIDER})
    if others:
        reason = f"{', '.join(others)} has it; with log='info' the provider tells why"
    claimed = owners == {PROVIDER}
    return NodeClaim(marks.labels[node], marks.places[node], claimed, "" if claimed else reason)
