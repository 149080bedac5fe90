# SPDX-License-Identifier: Apache-2.0
"""Which ArgMax nodes of a model the execution provider takes, by asking ONNX Runtime.

ONNX Runtime tells the names of the nodes that it kept and the provider of each, so every node is
given a name to be known by. It keeps that name where it copies a function's body to its caller,
and drops it where it opens an If whose condition is constant: the nodes of the branch that is
taken are then named after the branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import onnx

from onnx_argmax._model_scopes import Scope, argmax_nodes, model_scopes
from onnx_argmax._models import read_model
from onnx_argmax._ort_library import PROVIDER, runtime
from onnx_argmax._ort_options import session_options
from onnx_argmax._ort_session import assigned_argmax, source_of
from onnx_argmax.operator import NAME

__all__ = ["NodeClaim", "claimed_nodes"]

_ONLY_FATAL: Final = 4
_FOLDING: Final = "ConstantFolding"
"""ONNX Runtime's name of the optimisation that also opens an If."""
_EXTERNAL_DATA_FOLDER: Final = "session.model_external_initializers_file_folder_path"

_MARK: Final = "onnx_argmax_node_"

_FOLDED: Final = (
    "removed by ONNX Runtime's constant folding: its input is constant, or its branch is never "
    "taken"
)
_OPTIMIZED_AWAY: Final = (
    "removed by ONNX Runtime's graph optimisation, as a node that gives the same as another is"
)
_NOT_IN_GRAPH: Final = "not in the graph that runs: nothing calls its function"
_UNKNOWN: Final = (
    "in a branch that ONNX Runtime took out of its If: some nodes of it were removed, and it does "
    "not say which"
)


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


@dataclass(frozen=True, slots=True, eq=False)
class _Named:
    """A node under the name that it is known by."""

    label: str
    """What the model calls it."""
    scope: Scope
    mark: str
    """Part of its name in every session, unless the If around it was opened."""


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
    """
    proto, folder = _load(model)
    nodes = _name_all(proto)
    if not nodes:
        return []
    content = proto.SerializeToString()
    kept = _assignment(content, folder)
    owners = {node: _owners(kept, node) for node in nodes}
    missing = [node for node in nodes if not owners[node]]
    reasons: dict[_Named, str] = {}
    if missing:
        unfolded = _assignment(content, folder, folding=False)
        plain = _assignment(content, folder, optimized=False)
        folded = [node for node in missing if _owners(unfolded, node)]
        reasons |= dict.fromkeys(missing, _NOT_IN_GRAPH)
        reasons |= {node: _OPTIMIZED_AWAY for node in missing if _owners(plain, node)}
        reasons |= dict.fromkeys(folded, _FOLDED)
        for opened, found in _opened(kept, folded):
            owners |= dict.fromkeys(opened, found)
            reasons |= dict.fromkeys(opened, _UNKNOWN)
    return [_claim(node, owners[node], reasons.get(node, "")) for node in nodes]


def _load(model: object) -> tuple[onnx.ModelProto, Path | None]:
    """A model of our own, and the folder of its external data."""
    source = source_of(model)
    if isinstance(source, bytes):
        proto = onnx.ModelProto()
        try:
            proto.ParseFromString(source)
        except Exception as error:  # protobuf's own, by another name in each release
            raise ValueError(f"model: not an ONNX model: {error}") from error
        return proto, None
    return read_model(Path(source)), Path(source).absolute().parent


def _name_all(model: onnx.ModelProto) -> list[_Named]:
    """Give every ArgMax a name to be known by."""
    named: list[_Named] = []
    for number, found in enumerate(argmax_nodes(model_scopes(model))):
        named.append(_Named(found.label, found.scope, f"{_MARK}{number}_"))
        found.node.name = named[-1].mark
    return named


def _assignment(
    content: bytes, folder: Path | None, *, folding: bool = True, optimized: bool = True
) -> list[tuple[str, str]]:
    """The ArgMax nodes that a session of the model has, with the provider of each."""
    onnxruntime = runtime()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _ONLY_FATAL
    if folder is not None:
        options.add_session_config_entry(_EXTERNAL_DATA_FOLDER, str(folder))
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        content,
        session_options(options),
        enable_fallback=0,
        disabled_optimizers=None if folding else {_FOLDING},
    )
    return assigned_argmax(session)


def _owners(assignment: list[tuple[str, str]], node: _Named) -> set[str]:
    return {owner for name, owner in assignment if node.mark in name}


def _opened(
    kept: list[tuple[str, str]], folded: list[_Named]
) -> Iterator[tuple[list[_Named], set[str]]]:
    """Of the nodes that constant folding took away, those whose If it opened, with the providers
    that have them now; with none where it did so to some of them alone."""
    strangers = [(name, owner) for name, owner in kept if _MARK not in name]
    for branch in ("then_branch", "else_branch"):
        nodes = [node for node in folded if _branch_of(node.scope) == branch]
        # Functions put words in front of the name, and what makes it unique comes behind.
        owners = [owner for name, owner in strangers if f"_if_{branch}_{NAME}" in name]
        if owners:
            yield nodes, set(owners) if len(owners) == len(nodes) else set()


def _branch_of(scope: Scope) -> str:
    """Name of the innermost branch of an If that a scope is; empty where it is none."""
    if scope.outer is None:
        return ""
    owner = scope.outer.body.node[scope.owner]
    graphs = [child for child in scope.outer.children if child.owner == scope.owner]
    return owner.attribute[graphs.index(scope)].name if owner.op_type == "If" else ""


def _claim(node: _Named, owners: set[str], reason: str) -> NodeClaim:
    others = sorted(owners - {PROVIDER})
    if others:
        reason = f"{', '.join(others)} has it; with log='info' the provider tells why"
    claimed = owners == {PROVIDER}
    return NodeClaim(node.label, node.scope.place, claimed, "" if claimed else reason)
