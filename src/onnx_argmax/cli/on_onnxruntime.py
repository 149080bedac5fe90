# SPDX-License-Identifier: Apache-2.0
"""A model on ONNX Runtime, its ArgMax nodes on this package's provider."""

from __future__ import annotations

import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import onnx
import onnxruntime

from onnx_argmax import build_info
from onnx_argmax._model_checks import external_tensors
from onnx_argmax._model_scopes import argmax_nodes, model_scopes
from onnx_argmax._ort_session import assigned_argmax
from onnx_argmax.cli.errors import CommandError, message_of, printable
from onnx_argmax.cli.evaluation import Evaluation, NodeRun
from onnx_argmax.cli.ort_values import run_session
from onnx_argmax.cli.standard_error import without_stderr
from onnx_argmax.operator import NAME
from onnx_argmax.ort import InferenceSession, get_ep_name, register

__all__ = ["run_on_onnxruntime"]

_FATAL: Final = 4
_WARNING: Final = 2
"""Levels of its log; the second one is its default."""

_EXTERNAL_DATA_FOLDER: Final = "session.model_external_initializers_file_folder_path"
_OPTIMIZED_WEIGHTS: Final = "session.optimized_model_external_initializers_file_name"

_PREFIX: Final = re.compile(r"\[ONNXRuntimeError\] : \d+ : (?P<kind>\w+) : ")
_PLACE_IN_ITS_SOURCE: Final = re.compile(r"/\S+?:\d+ [^(]*\([^)]*\) (?:const )?")
_FAILED_NODE: Final = re.compile(
    r"Non-zero status code returned while running (?P<operator>\S+) node\. "
    r"Name:'(?P<name>.*?)' Status Message: "
)
_LACKING: Final = "NOT_IMPLEMENTED"


def run_on_onnxruntime(
    path: Path,
    model: onnx.ModelProto,
    inputs: dict[str, Any],
    *,
    threads: int | None,
    profile: bool,
) -> Evaluation:
    """Run a checked model on checked inputs.

    Parameters
    ----------
    path : Path
        The model's file, beside which data lies that ``model`` has not read.
    model : onnx.ModelProto
        The model, whose ArgMax nodes are given other names.
    inputs : dict of str to array
        By the inputs' names.
    threads : int, optional
        Most threads that ONNX Runtime uses.
    profile : bool
        Whether times are taken.

    Raises
    ------
    CommandError
        When ONNX Runtime refuses the model, when this package's provider was not taken, and for
        an error as the model runs.
    """
    # Asked before the run, as an environment variable that is no good is found out here.
    level = build_info().level
    with without_stderr():
        register()
    marked = _Marked(model)
    job = _Job(path, model, threads)
    with _silent(), _temporary() if profile else nullcontext() as folder:
        with _reported(path, "ONNX Runtime cannot load it", marked):
            session = job.session(profile=None if folder is None else folder / "profile")
            owners = _owners(session, marked, job)
        try:
            with _reported(path, "the model failed as it ran", marked):
                outputs = run_session(session, inputs)
        finally:
            written = session.end_profiling() if profile else ""
        times = _times(Path(written), owners) if profile else None
    nodes = [
        NodeRun(_words(owners, number, level), times and times.nodes.get(number))
        for number in range(len(marked.labels))
    ]
    runtime = f"ONNX Runtime {onnxruntime.__version__}"
    return Evaluation(outputs, runtime, nodes, times and times.total)


class _Marked:
    """A model's ArgMax nodes under names to be known by, whatever ONNX Runtime makes of them.

    It puts words in front of a name as it copies a function's body to its caller. Where it opens
    an If whose condition is constant, it drops the names, but not the nodes' ``doc_string``.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        scopes = model_scopes(model)
        nodes = argmax_nodes(scopes)
        names = [node.name for scope in scopes for node in scope.body.node]
        prefix = "onnx_argmax_node_"
        while any(prefix in name for name in names):
            prefix += "_"
        self._mark: Final = re.compile(f"(?:_inlfunc_[^']*?)?{prefix}([0-9]+)_")
        self.labels: Final = [found.label for found in nodes]
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
class _Job:
    """What every session of the model is made from."""

    path: Path
    model: onnx.ModelProto
    threads: int | None

    def session(self, *, profile: Path | None = None, optimized: Path | None = None) -> Any:
        """A session that writes its profile, or the model as it optimised it, where it is told."""
        options: Any = onnxruntime.SessionOptions()
        if self.threads is not None:
            options.intra_op_num_threads = self.threads
        if any(external_tensors(self.model)):
            folder = str(self.path.absolute().parent)
            options.add_session_config_entry(_EXTERNAL_DATA_FOLDER, folder)
        if profile is not None:
            options.enable_profiling = True
            options.profile_file_prefix = str(profile)
        if optimized is not None:
            options.optimized_model_filepath = str(optimized)
            options.add_session_config_entry(_OPTIMIZED_WEIGHTS, f"{optimized.name}.weights")
        return InferenceSession(self.model, options)


@dataclass(frozen=True, slots=True)
class _Owners:
    """Who has which ArgMax."""

    numbers: dict[str, int]
    """Numbers of the model's nodes by the names that ONNX Runtime gives them."""
    providers: dict[int, list[str]]
    """The providers of a node; it has several where they run copies of it."""
    strangers: list[str]
    """Names that ONNX Runtime gives to nodes which it does not say more of."""


@dataclass(frozen=True, slots=True)
class _Times:
    """Seconds that a run took."""

    total: float
    nodes: dict[int, float]


def _owners(session: Any, marked: _Marked, job: _Job) -> _Owners:
    assigned = assigned_argmax(session)
    found = {name: marked.number(name) for name, _ in assigned}
    if None in found.values():
        described = _descriptions(job)
        found = {name: marked.number(described.get(name, name)) for name in found}
    numbers = {name: number for name, number in found.items() if number is not None}
    providers: dict[int, list[str]] = defaultdict(list)
    for name, provider in assigned:
        if name in numbers and provider not in providers[numbers[name]]:
            providers[numbers[name]].append(provider)
    return _Owners(numbers, providers, [name for name in found if name not in numbers])


def _descriptions(job: _Job) -> dict[str, str]:
    """The ``doc_string`` of each ArgMax by the name that ONNX Runtime gives it."""
    with _temporary() as folder:
        optimized = folder / "optimized.onnx"
        job.session(optimized=optimized)
        model = onnx.load(optimized, load_external_data=False)
    nodes = argmax_nodes(model_scopes(model))
    return {found.node.name: found.node.doc_string for found in nodes}


def _words(owners: _Owners, number: int, level: str) -> str:
    providers = owners.providers.get(number)
    if providers:
        ours = get_ep_name()
        return ", ".join(f"{p}, level {level}" if p == ours else p for p in providers)
    if owners.strangers:
        return f"not known: ONNX Runtime runs {', '.join(owners.strangers)}, maybe this one"
    return "nothing: ONNX Runtime optimised it away"


def _times(profile: Path, owners: _Owners) -> _Times:
    """The times in the profile of a session that ran once."""
    seconds: dict[int, float] = defaultdict(float)
    total: float | None = None
    for event in _events(profile):
        duration = event.get("dur", 0) / 1e6
        if event.get("name") == "model_run":
            total = duration
        if event.get("args", {}).get("op_name") == NAME:
            name = event["name"].removesuffix("_kernel_time")
            if name in owners.numbers:
                seconds[owners.numbers[name]] += duration
    if total is None:
        raise CommandError(
            "--profile: ONNX Runtime's profile ends before the run does, as it holds a million "
            "steps at most; leave --profile out"
        )
    return _Times(total, seconds)


def _events(profile: Path) -> Generator[dict[str, Any]]:
    with profile.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            # Older releases write names as they are, so that a line may be no JSON: never one of
            # ours, whose nodes have names of our own.
            with suppress(ValueError):
                event = json.loads(line.strip().rstrip(","))
                if isinstance(event, dict):
                    yield cast("dict[str, Any]", event)


@contextmanager
def _temporary() -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="onnx-argmax-") as name:
        yield Path(name)


@contextmanager
def _silent() -> Generator[None]:
    """Keep ONNX Runtime's log, and that of the sessions made meanwhile, off standard error."""
    onnxruntime.set_default_logger_severity(_FATAL)
    try:
        yield
    finally:
        onnxruntime.set_default_logger_severity(_WARNING)


@contextmanager
def _reported(path: Path, what: str, marked: _Marked) -> Generator[None]:
    try:
        yield
    except CommandError:
        raise
    except Exception as error:  # onnxruntime's exceptions have no common class of their own
        raise CommandError(f"{path}: {what}: {marked.unmarked(_reason(error))}") from error


def _reason(error: Exception) -> str:
    text = printable(str(error))
    prefix = _PREFIX.match(text)
    if prefix is None:
        return text if type(error) is RuntimeError else message_of(error)
    reason = _PLACE_IN_ITS_SOURCE.sub("", text[prefix.end() :])
    failed = _FAILED_NODE.match(reason)
    if failed is not None:
        reason = reason[failed.end() :]
        if failed["operator"] != NAME:  # which says by itself what it is
            reason = f"node {failed['name']!r} ({failed['operator']}): {reason}"
    if prefix["kind"] == _LACKING:
        reason += "; --runtime reference may have it"
    return reason
