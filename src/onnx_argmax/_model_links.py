# SPDX-License-Identifier: Apache-2.0
"""What gives a value and what takes it, through every graph and function of a model."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass

import onnx

from onnx_argmax._model_scopes import ArgMaxNode, Scope

__all__ = ["Links", "ValueEnd"]


@dataclass(frozen=True, slots=True)
class ValueEnd:
    """One end of a value: what produces it, or one of those that consume it."""

    kind: str
    """``"node"``, ``"input"``, ``"initializer"``, ``"input with initializer"``, ``"output"``,
    or ``"nothing"`` where no part of the model produces the value."""
    operator: str
    """Operator of a node, with its domain unless that is the default one; otherwise empty."""
    name: str
    """Of the node, or of the value; empty for a node without a name."""
    place: str
    """The graph or function that it is part of, as :class:`Scope` says it."""


class Links:
    """Producers and consumers of a model's values, all found in one pass."""

    def __init__(self, scopes: list[Scope]) -> None:
        self._defined = {scope: _definitions(scope) for scope in scopes}
        self._consumers: dict[tuple[Scope, str], list[ValueEnd]] = defaultdict(list)
        # For each scope, the names that each of its nodes takes, also by graphs inside the node.
        self._takes: dict[Scope, list[set[str]]] = {
            scope: [set() for _ in scope.body.node] for scope in scopes
        }
        for scope in scopes:
            self._link(scope)
        self._blocked = {scope: self._never_ready(scope) for scope in scopes}

    def producer(self, found: ArgMaxNode, name: str) -> ValueEnd:
        """What gives the value that a node knows by a name."""
        owner = self._owner(found.scope, name)
        if owner is None:
            return ValueEnd("nothing", "", name, "")
        return self._defined[owner][name]

    def consumers(self, found: ArgMaxNode, name: str) -> list[ValueEnd]:
        """What takes the value that a node gives a name."""
        return self._consumers.get((found.scope, name), [])

    def waits_for_itself(self, found: ArgMaxNode) -> bool:
        """Whether the node is part of a cycle, or behind one, so that it could never start."""
        scope: Scope | None = found.scope
        position = found.position
        while scope is not None:
            if position in self._blocked[scope]:
                return True
            scope, position = scope.outer, scope.owner
        return False

    def _owner(self, scope: Scope, name: str) -> Scope | None:
        around: Scope | None = scope
        while around is not None and name not in self._defined[around]:
            around = around.outer
        return around

    def _link(self, scope: Scope) -> None:
        for position, node in enumerate(scope.body.node):
            for name in dict.fromkeys(filter(None, node.input)):
                end = ValueEnd("node", _operator(node), node.name, scope.place)
                self._add(scope, position, name, end)
        for name in _outputs(scope):
            self._add(scope, None, name, ValueEnd("output", "", name, scope.place))

    def _add(self, scope: Scope, position: int | None, name: str, end: ValueEnd) -> None:
        owner = self._owner(scope, name)
        if owner is None:
            return
        self._consumers[owner, name].append(end)
        while scope is not owner:
            assert scope.outer is not None  # the owner is around it
            scope, position = scope.outer, scope.owner
        if position is not None:
            self._takes[owner][position].add(name)

    def _never_ready(self, scope: Scope) -> set[int]:
        """Positions of the nodes that a run in any order would never come to."""
        producers = {
            name: position
            for position, node in enumerate(scope.body.node)
            for name in filter(None, node.output)
        }
        needs = [{producers[n] for n in names if n in producers} for names in self._takes[scope]]
        followers: dict[int, list[int]] = defaultdict(list)
        for position, before in enumerate(needs):
            for producer in before:
                followers[producer].append(position)
        waiting = Counter({position: len(before) for position, before in enumerate(needs)})
        ready = deque(position for position, before in enumerate(needs) if not before)
        while ready:
            for position in followers[ready.popleft()]:
                waiting[position] -= 1
                if not waiting[position]:
                    ready.append(position)
        return {position for position, left in waiting.items() if left}


def _definitions(scope: Scope) -> dict[str, ValueEnd]:
    body = scope.body
    found: dict[str, ValueEnd] = {}
    for node in body.node:
        for name in filter(None, node.output):
            found[name] = ValueEnd("node", _operator(node), node.name, scope.place)
    initialized = set(_initializers(body))
    for name in initialized:
        found[name] = ValueEnd("initializer", "", name, scope.place)
    for name in _inputs(body):
        kind = "input with initializer" if name in initialized else "input"
        found[name] = ValueEnd(kind, "", name, scope.place)
    return found


def _initializers(body: onnx.GraphProto | onnx.FunctionProto) -> Iterator[str]:
    if isinstance(body, onnx.GraphProto):
        yield from (tensor.name for tensor in body.initializer)
        yield from (sparse.values.name for sparse in body.sparse_initializer)


def _inputs(body: onnx.GraphProto | onnx.FunctionProto) -> list[str]:
    if isinstance(body, onnx.GraphProto):
        return [value.name for value in body.input]
    return list(body.input)


def _outputs(scope: Scope) -> list[str]:
    body = scope.body
    if isinstance(body, onnx.GraphProto):
        return [value.name for value in body.output]
    return list(body.output)


def _operator(node: onnx.NodeProto) -> str:
    return f"{node.domain}.{node.op_type}" if node.domain else node.op_type
