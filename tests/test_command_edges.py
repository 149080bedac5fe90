# SPDX-License-Identifier: Apache-2.0
"""``onnx-argmax array`` stopped where one thing is done and the next is not."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from command import Outcome, in_this_process, python
from onnx_argmax import argmax as fast_argmax
from onnx_argmax.cli.outputs import is_beside

pytest.importorskip("typer")

DATA = np.random.default_rng(1).integers(0, 9, (60, 40)).astype(np.float32)
RIGHT = fast_argmax(DATA, 1)

SETUP: Final = """
import atexit, os, shutil, signal, sys
from pathlib import Path
from onnx_argmax.cli import array, array_journal, array_output, main, zarr_output

# A process that a shell started in the background ignores it, and what it starts does too.
signal.signal(signal.SIGINT, signal.default_int_handler)

def then(owner, name, happens, *, before=False):
    whole = getattr(owner, name)
    def stopped(*arguments, **options):
        if before:
            happens()
        result = whole(*arguments, **options)
        happens()
        return result
    setattr(owner, name, stopped)

def kill():
    os.kill(os.getpid(), signal.SIGKILL)

number = int(sys.argv.pop(1))
def ask():
    signal.raise_signal(number)
"""


def stopped(
    where: str, scores: Path, output: Path, *options: str, number: int = signal.SIGINT
) -> Outcome:
    """Run the command as a process's own, after a line that has it stopped somewhere."""
    return python(
        *("-W", "error", "-c", f"{SETUP}\n{where}\nsys.exit(main())", str(int(number))),
        *("array", str(scores), "--axis=1", f"--output={output}", *options),
    )


def names(output: Path) -> list[str]:
    return sorted(path.name for path in output.parent.iterdir())


def result(output: Path) -> Any:
    if output.suffix == ".npy":
        return np.load(output)
    zarr = pytest.importorskip("zarr")
    return zarr.open(str(output), mode="r")[...]


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    np.save(tmp_path / "scores.npy", DATA)
    return tmp_path / "scores.npy"


@pytest.fixture(params=[".npy", ".zarr"])
def output(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == ".zarr":
        pytest.importorskip("zarr", minversion="3", reason="zarr is not installed")
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / f"labels{request.param}"


def something_there(output: Path) -> None:
    """An output of before, which the next one replaces."""
    source = output.parent.parent / "before.npy"
    np.save(source, np.zeros((3, 2), np.float32))
    in_this_process("array", source, "--axis=1", f"--output={output}").accepted()


LATE = [
    "then(array_output.PartFile, 'finish', ask)",
    "then(array_journal.ArrayJournal, 'remove', ask)",
    "then(array, 'show_line', ask)",
    "then(array, '_reduce', ask)",
    "atexit.register(ask)",
    "import threading; threading._register_atexit(ask)",
]


@pytest.mark.parametrize("where", LATE)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("output", [".npy"], indirect=True)
def test_a_signal_after_the_output_stands(
    number: int, where: str, scores: Path, output: Path
) -> None:
    outcome = stopped(where, scores, output, "--resume", number=number)
    assert outcome.accepted() == f"{output}: int64 (60, 1)\n"
    assert names(output) == [output.name]
    assert np.array_equal(result(output), RIGHT)


EARLY = [
    "then(array, 'source_path', ask)",
    "then(array, 'check_writable', ask)",
    "then(Path, 'touch', ask)",
    "then(array, 'identity_of', ask)",
    "then(array, 'read_source', ask)",
    "then(array, 'block_source', ask)",
    "then(array.PartFile, '_lock', ask)",
    "then(array, 'ArrayJournal', ask)",
    "then(array.PartFile, 'reserve', ask)",
]


@pytest.mark.parametrize("where", EARLY)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("output", [".npy"], indirect=True)
def test_a_signal_before_the_work(number: int, where: str, scores: Path, output: Path) -> None:
    outcome = stopped(where, scores, output, "--resume", number=number)
    outcome.refused(
        f"{scores}: interrupted by {signal.Signals(number).name} ",
        "nothing was written",
        status=128 + number,
    )
    assert names(output) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("output", [".zarr"], indirect=True)
@pytest.mark.parametrize(
    "where",
    [
        "import zarr; then(zarr, 'create_array', ask, before=True)",
        "import zarr; then(zarr.Array, '__setitem__', ask, before=True)",
        "import zarr; then(zarr, 'open', ask, before=True)",
        "then(array_output.PartFile, 'prepare', ask)",
    ],
)
def test_a_signal_as_zarr_is_at_work(number: int, where: str, scores: Path, output: Path) -> None:
    something_there(output)
    stopped(where, scores, output, number=number).refused(
        "interrupted by ", "nothing was written", status=128 + number
    )
    assert names(output) == [output.name]
    assert result(output).shape == (3, 1)


KILLED = [
    "then(array_journal.ArrayJournal, 'conclude', kill)",
    "then(array_output.PartFile, 'finish', kill)",
    "then(Path, 'replace', kill)",
    "then(array_output, 'exchange', kill)",
    "then(shutil, 'rmtree', kill, before=True)",
    "array_output.PartFile.remove = lambda part: kill()",
    "array_journal.ArrayJournal.remove = lambda journal: kill()",
]


@pytest.mark.parametrize("where", KILLED)
@pytest.mark.parametrize("replaces", [False, True])
def test_a_kill_as_it_ends(where: str, replaces: bool, scores: Path, output: Path) -> None:
    """The output is the old one or the new one at any time, and the next run ends the work."""
    if replaces:
        something_there(output)
    outcome = stopped(where, scores, output, "--resume")
    if outcome.status == 0:  # no such step on the way to this output
        assert names(output) == [output.name]
        return
    assert outcome == Outcome(-signal.SIGKILL, "", "")
    if replaces:
        assert result(output).shape in ((3, 1), (60, 1))
    finished = output.exists() and result(output).shape == (60, 1)
    before = os.stat(output).st_ino if finished else 0
    printed = in_this_process(
        "array", scores, "--axis=1", f"--output={output}", "--resume"
    ).accepted()
    assert printed.startswith(f"{output}: int64 (60, 1)")
    assert ("an earlier run had finished it" in printed) == finished
    assert names(output) == [output.name]
    assert np.array_equal(result(output), RIGHT)
    if finished:
        assert os.stat(output).st_ino == before


@pytest.mark.parametrize("output", [".npy"], indirect=True)
def test_a_finished_output_that_was_written_since(scores: Path, output: Path) -> None:
    stopped(KILLED[-1], scores, output, "--resume")
    np.save(output, np.zeros(3))
    in_this_process("array", scores, "--axis=1", f"--output={output}", "--resume").refused(
        f"{output}.part is gone", f"delete {output}.resume, or run without --resume"
    )
    assert names(output) == ["labels.npy", "labels.npy.resume"]


@pytest.mark.parametrize("output", [".zarr"], indirect=True)
def test_a_name_in_the_journal_that_is_not_ours(scores: Path, output: Path) -> None:
    """A folder that a journal names is deleted only if it has a name of this command's."""
    (output.parent / "precious").mkdir()
    named = "array_output.beside = lambda target: target.with_name('precious.part')\n"
    assert stopped(named + KILLED[0], scores, output, "--resume").status == -signal.SIGKILL
    in_this_process("array", scores, "--axis=1", f"--output={output}", "--resume").accepted()
    assert names(output) == [output.name, "precious", "precious.part"]


@pytest.mark.parametrize("output", [".zarr"], indirect=True)
def test_a_kill_between_two_renamings(scores: Path, output: Path) -> None:
    """Where the system cannot swap two names at once."""
    something_there(output)
    aside = output.with_name("labels.zarr.replaced")
    where = "array_output.exchange = lambda *names: False; then(Path, 'rename', kill)"
    assert stopped(where, scores, output).status == -signal.SIGKILL
    assert not output.exists()
    assert result(aside.rename(output)).shape == (3, 1)
    output.rename(aside)
    again = ("array", scores, "--axis=1", f"--output={output}")
    in_this_process(*again).refused(f"rename {aside} to {output} to have it back, or delete it")
    shutil.copytree(aside, output)
    in_this_process(*again).refused(f"delete {aside}, or move it away")
    shutil.rmtree(aside)
    in_this_process(*again).accepted()
    assert np.array_equal(result(output), RIGHT)


@pytest.mark.parametrize("output", [".zarr"], indirect=True)
@pytest.mark.parametrize("swaps", [False, True])
def test_replacing_a_folder(
    swaps: bool, scores: Path, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one step or in two, with what was replaced deleted or not."""
    something_there(output)
    if not swaps:
        monkeypatch.setattr("onnx_argmax.cli.array_output.exchange", lambda *names: False)
    again = ("array", scores, "--axis=1", f"--output={output}")
    in_this_process(*again).accepted()
    assert names(output) == [output.name]
    assert np.array_equal(result(output), RIGHT)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda *arguments, **options: None)
        printed = in_this_process(*again).accepted()
    (left,) = set(names(output)) - {output.name}
    assert left == "labels.zarr.replaced" if not swaps else is_beside(Path(left))
    assert f"what it replaced lies in {output.with_name(left)}" in "".join(printed.split("\n"))


@pytest.mark.parametrize("output", [".npy"], indirect=True)
def test_what_cannot_be_told(scores: Path, output: Path) -> None:
    """The output stands, and the message says so."""
    where = "os.dup2(os.open('/dev/full', os.O_WRONLY), 1)"
    stopped(where, scores, output).refused(
        "standard output: cannot be written", f"the result stands: {output}: int64 (60, 1)"
    )
    assert np.array_equal(result(output), RIGHT)
