# SPDX-License-Identifier: Apache-2.0
"""The ArgMax nodes of a model under marks by which they are known in ONNX Runtime.

What ONNX Runtime tells of a session is by the nodes' names: which provider has which, what failed,
how long it took. So every ArgMax gets a name of its own. As the runtime copies a function's body
to its caller, it puts words in front of that name. Where it opens an If whose condition is
constant, it gives new names to the nodes of the branch that is taken, the same ones in several
graphs, and keeps their ``doc_string``: so the mark is there too, and is read from the optimised
model, which a second session writes.
"""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import onnx

from onnx_argmax._model_scopes import Scope, argmax_nodes, as_text, model_scopes
from onnx_argmax._ort_session import assigned_argmax

__all__ = ["Assignment", "Marks", "assignment", "write_optimized"]

_PREFIX: Final = "onnx_argmax_node_"
_OPTIMIZED_WEIGHTS: Final = "session.optimized_model_external_initializers_file_name"


class Marks:
    """Marks on the ArgMax nodes of a model, each the node's name and ``doc_string``.

    Parameters
    ----------
    model : onnx.ModelProto
        The model, whose nodes are changed.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        scopes = model_scopes(model)
        nodes = argmax_nodes(scopes)
        prefix = _PREFIX
        while any(prefix in name for name in _names(scopes)):
            prefix += "_"
        self._mark: Final = re.compile(f"(?:_inlfunc_[^']*?)?{prefix}([0-9]+)_")
        self.labels: Final = [found.label for found in nodes]
        """What the model calls each node: the numbers of nodes are their places here."""
        self.places: Final = [found.scope.place for found in nodes]
        """Where each node lies."""
        for number, found in enumerate(nodes):
            found.node.name = found.node.doc_string = f"{prefix}{number}_"

    def number(self, text: str) -> int | None:
        """Number of the node whose mark is in the text."""
        found = self._mark.search(text)
        return None if found is None else int(found[1])

    def unmarked(self, text: str) -> str:
        """The text with the nodes called as the model calls them."""
        return self._mark.sub(lambda mark: self.labels[int(mark[1])], text)


@dataclass(frozen=True, slots=True)
class Assignment:
    """Who has which ArgMax in a session."""

    numbers: dict[str, set[int]]
    """Numbers of the nodes by the names that ONNX Runtime gives them: several for a name that it
    gives in several graphs."""
    providers: dict[int, set[str]]
    """The providers of each node that is in the session; it has several where they run copies of
    it, or of one that has the same name."""
    strangers: list[str]
    """Names that ONNX Runtime gives to nodes which it does not say more of."""

    def shares_a_name(self, number: int) -> bool:
        """Whether ONNX Runtime has another node of the same name, so that what it tells by that
        name is of both."""
        return any(number in nodes and len(nodes) > 1 for nodes in self.numbers.values())

    @property
    def doubt(self) -> str:
        """What to say of a node that is not in the session, as far as one can tell; empty where
        that is sure."""
        if not self.strangers:
            return ""
        return f"not known: ONNX Runtime runs {', '.join(self.strangers)}, maybe this one"


def assignment(session: Any, marks: Marks, again: Callable[[Path], object]) -> Assignment:
    """Who has which node.

    Parameters
    ----------
    session : onnxruntime.InferenceSession
        A session of the marked model that records its assignment.
    marks : Marks
        The model's.
    again : callable
        Makes the session once more, its options changed by :func:`write_optimized` for the path
        that it is given. Called where ONNX Runtime gave a node a name without the mark.
    """
    assigned = assigned_argmax(session)
    numbers = {
        name: {number} for name, _ in assigned if (number := marks.number(name)) is not None
    }
    unmarked = {name for name, _ in assigned} - numbers.keys()
    if unmarked:
        described = _described(marks, again)
        numbers |= {name: described[name] for name in unmarked if name in described}
    providers: dict[int, set[str]] = defaultdict(set)
    for name, provider in assigned:
        for number in numbers.get(name, ()):
            providers[number].add(provider)
    return Assignment(numbers, dict(providers), sorted(unmarked - numbers.keys()))


def write_optimized(options: Any, file: Path) -> None:
    """Have a session write the model as it optimised it, large tensors into a file beside it."""
    options.optimized_model_filepath = str(file)
    options.add_session_config_entry(_OPTIMIZED_WEIGHTS, f"{file.name}.weights")


def _names(scopes: list[Scope]) -> Iterator[str]:
    """All that ONNX Runtime makes a node's name of: names of nodes, and of functions."""
    for scope in scopes:
        if isinstance(scope.body, onnx.FunctionProto):
            yield as_text(scope.body.name)
        yield from (as_text(node.name) for node in scope.body.node)


def _described(marks: Marks, again: Callable[[Path], object]) -> dict[str, set[int]]:
    """Numbers of the nodes by their names in the optimised model, going by ``doc_string``."""
    with tempfile.TemporaryDirectory(prefix="onnx-argmax-") as folder:
        file = Path(folder) / "optimized.onnx"
        again(file)
        model = onnx.load(file, load_external_data=False)
    numbers: dict[str, set[int]] = defaultdict(set)
    for found in argmax_nodes(model_scopes(model)):
        number = marks.number(found.node.doc_string)
        if number is not None:
            numbers[found.node.name].add(number)
    return numbers
