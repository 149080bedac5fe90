# SPDX-License-Identifier: Apache-2.0
"""A model on ONNX Runtime, its ArgMax nodes on this package's provider."""

from __future__ import annotations

import json
import os
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
from onnx_argmax._ort_marks import Assignment, Marks, assignment, write_optimized
from onnx_argmax._ort_options import EXTERNAL_DATA_FOLDER
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
        Most threads that ONNX Runtime uses; it is given no more than there are CPUs for.
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
    marks = Marks(model)
    job = _Job(path, model, threads)
    with _silent(), _temporary() if profile else nullcontext() as folder:
        with _reported(path, "ONNX Runtime cannot load it", marks):
            session = job.session(profile=None if folder is None else folder / "profile")
            owners = assignment(session, marks, lambda file: job.session(optimized=file))
        try:
            with _reported(path, "the model failed as it ran", marks):
                outputs = run_session(session, inputs)
        finally:
            written = session.end_profiling() if profile else ""
        times = _times(Path(written), owners) if profile else None
    nodes = [
        NodeRun(
            _words(owners, number, level) + (_together(owners, number) if profile else ""),
            times and times.nodes.get(number),
        )
        for number in range(len(marks.labels))
    ]
    runtime = f"ONNX Runtime {onnxruntime.__version__}"
    return Evaluation(outputs, runtime, nodes, times and times.total)


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
            # ONNX Runtime starts as many as it is told, needed or not.
            options.intra_op_num_threads = min(self.threads, _cpus())
        if any(external_tensors(self.model)):
            folder = str(self.path.absolute().parent)
            options.add_session_config_entry(EXTERNAL_DATA_FOLDER, folder)
        if profile is not None:
            options.enable_profiling = True
            options.profile_file_prefix = str(profile)
        if optimized is not None:
            write_optimized(options, optimized)
        return InferenceSession(self.model, options)


def _cpus() -> int:
    """How many CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS and Windows


@dataclass(frozen=True, slots=True)
class _Times:
    """Seconds that a run took."""

    total: float
    nodes: dict[int, float]


def _words(owners: Assignment, number: int, level: str) -> str:
    providers = owners.providers.get(number)
    if providers:
        ours = get_ep_name()
        return ", ".join(f"{p}, level {level}" if p == ours else p for p in sorted(providers))
    return owners.doubt or "nothing: ONNX Runtime optimised it away"


def _together(owners: Assignment, number: int) -> str:
    if not owners.shares_a_name(number):
        return ""
    return ", timed together with others that ONNX Runtime gives the same name"


def _times(profile: Path, owners: Assignment) -> _Times:
    """The times in the profile of a session that ran once."""
    seconds: dict[int, float] = defaultdict(float)
    total: float | None = None
    for event in _events(profile):
        duration = event.get("dur", 0) / 1e6
        if event.get("name") == "model_run":
            total = duration
        if event.get("args", {}).get("op_name") == NAME:
            name = event["name"].removesuffix("_kernel_time")
            for number in owners.numbers.get(name, ()):
                seconds[number] += duration
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
def _reported(path: Path, what: str, marks: Marks) -> Generator[None]:
    try:
        yield
    except CommandError:
        raise
    except Exception as error:  # onnxruntime's exceptions have no common class of their own
        raise CommandError(f"{path}: {what}: {marks.unmarked(_reason(error))}") from error


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
