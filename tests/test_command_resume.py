# SPDX-License-Identifier: Apache-2.0
"""``onnx-argmax array`` broken off, and gone on with."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command import Outcome, in_this_process
from onnx_argmax import argmax as fast_argmax
from onnx_argmax._block_sources import FileSource, ObjectSource
from stored import small_blocks

pytest.importorskip("typer")

DATA = np.random.default_rng(1).integers(0, 9, (60, 40)).astype(np.float32)
"""With many ties, among them between blocks."""


class Reads:
    """Counts the blocks that are read, and fails at one of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.boxes: list[Any] = []
        self.fail_at: int | None = None
        self.error: Callable[[], BaseException] = lambda: OSError(5, "Input/output error")
        for kind in (FileSource, ObjectSource):
            monkeypatch.setattr(kind, "read", self._counted(kind.read))

    def _counted(self, read: Callable[..., Any]) -> Callable[..., Any]:
        def counted(source: Any, box: Any, buffer: memoryview) -> Any:
            self.boxes.append(box)
            if self.fail_at is not None and len(self.boxes) > self.fail_at:
                raise self.error()
            return read(source, box, buffer)

        return counted

    def begin(self, fail_at: int | None = None) -> None:
        self.boxes.clear()
        self.fail_at = fail_at


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reads]:
    """Blocks are small meanwhile, and what is done is kept after each of them."""
    monkeypatch.setattr("onnx_argmax.cli.array_journal._LEAST_SECONDS", 0)
    monkeypatch.setattr("onnx_argmax.cli.array_journal._SHARE", 0)
    with small_blocks(400, 3):
        yield Reads(monkeypatch)


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    np.save(tmp_path / "scores.npy", DATA)
    return tmp_path / "scores.npy"


@pytest.fixture
def output(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "labels.npy"


def run(source: str | Path, output: Path, *options: str, axis: str = "0") -> Outcome:
    return in_this_process(
        "array", source, f"--axis={axis}", f"--output={output}", "--threads=2", *options
    )


def names(output: Path) -> list[str]:
    return sorted(path.name for path in output.parent.iterdir())


def blocks_kept(output: Path) -> int:
    with np.load(f"{output}.resume", allow_pickle=False) as journal:
        return int(np.diff(journal["blocks"], axis=1).sum())


KEPT = ["labels.npy.part", "labels.npy.resume"]


def broken_off(source: str | Path, output: Path, reads: Reads, axis: str = "0") -> Outcome:
    """Fail at the eighth block, with ``--resume``."""
    reads.begin(fail_at=7)
    outcome = run(source, output, "--resume", axis=axis)
    reads.begin()
    return outcome


def test_needs_an_output(scores: Path) -> None:
    in_this_process("array", scores, "--axis", "0", "--resume").refused(
        "--resume", "--output is needed", status=2
    )


def test_nothing_is_left_after_success(scores: Path, output: Path, reads: Reads) -> None:
    run(scores, output, "--resume").accepted()
    assert names(output) == ["labels.npy"]
    assert np.array_equal(np.load(output), fast_argmax(DATA, 0))


@pytest.mark.parametrize("kind", ["npy", "fortran", "zarr", "gzip"])
@pytest.mark.parametrize("axis", ["0", "1", "none"])
def test_goes_on_without_reading_again(
    axis: str, kind: str, tmp_path: Path, scores: Path, output: Path, reads: Reads
) -> None:
    source: str | Path = scores
    if kind == "fortran":
        np.save(scores, np.asfortranarray(DATA))
    elif kind == "zarr":
        zarr = pytest.importorskip("zarr", minversion="3", reason="zarr is not installed")
        source = tmp_path / "scores.zarr"
        zarr.create_array(source, data=DATA, chunks=(7, 9))
    elif kind == "gzip":
        h5py = pytest.importorskip("h5py", reason="h5py is not installed")
        with h5py.File(tmp_path / "scores.h5", "w") as file:
            file.create_dataset("x", data=DATA, chunks=(7, 9), compression="gzip")
        source = f"{tmp_path / 'scores.h5'}:x"
    run(source, tmp_path / "whole.npy", axis=axis).accepted()
    blocks = len(reads.boxes)
    reads.begin(fail_at=7)
    run(source, output, "--resume", axis=axis).refused(
        f"{source}: the block [", "cannot be read", "is kept in", "the same command goes on"
    )
    for number in range(1, 3):  # several times, so that what was gone on with is kept too
        assert names(output) == KEPT
        kept = blocks_kept(output)
        assert 4 * number <= kept < blocks
        reads.begin(fail_at=7)
        run(source, output, "--resume", axis=axis).refused("the same command goes on")
    kept = blocks_kept(output)
    reads.begin()
    run(source, output, "--resume", axis=axis).accepted()
    assert len(reads.boxes) == blocks - kept
    assert names(output) == ["labels.npy"]
    expected = fast_argmax(DATA, None if axis == "none" else int(axis))
    assert np.array_equal(np.load(output), expected)
    assert output.read_bytes() == (tmp_path / "whole.npy").read_bytes()


def test_goes_on_to_zarr(tmp_path: Path, scores: Path, output: Path, reads: Reads) -> None:
    zarr = pytest.importorskip("zarr", minversion="3", reason="zarr is not installed")
    store = output.with_suffix(".zarr")
    broken_off(scores, store, reads, "1").refused("labels.zarr.part and ", "labels.zarr.resume")
    assert names(store) == ["labels.zarr.part", "labels.zarr.resume"]
    run(scores, store, "--resume", axis="1").accepted()
    assert names(store) == ["labels.zarr"]
    found = zarr.open(str(store), mode="r")[...]
    assert np.array_equal(found, fast_argmax(DATA, 1))


def test_what_was_done_is_not_looked_at_again(scores: Path, output: Path, reads: Reads) -> None:
    """Other elements under the same times: those of before are in the answer."""
    broken_off(scores, output, reads, "1").refused("goes on")
    done = blocks_kept(output)
    times = scores.stat()
    with scores.open("r+b") as file:
        file.seek(-DATA.nbytes, os.SEEK_END)
        file.write(np.zeros_like(DATA).tobytes())
    os.utime(scores, ns=(times.st_atime_ns, times.st_mtime_ns))
    run(scores, output, "--resume", axis="1").accepted()
    found = np.load(output)
    assert not np.array_equal(found, np.zeros_like(found))
    rows = np.flatnonzero(found == fast_argmax(DATA, 1))
    assert rows.size >= done  # a block has a row at least


def test_goes_on_in_other_memory_and_threads(scores: Path, output: Path, reads: Reads) -> None:
    """The blocks stay those that it was begun with."""
    broken_off(scores, output, reads, "0").refused("goes on")
    with small_blocks(3000, 10):
        run(scores, output, "--resume", "--threads=1", "--memory=900MiB").accepted()
    assert np.array_equal(np.load(output), fast_argmax(DATA, 0))
    broken_off(scores, output, reads, "0").refused("goes on")
    run(scores, output, "--resume", "--memory=1MiB").refused("the least that works is --memory")
    assert names(output) == ["labels.npy", *KEPT]


def test_nothing_done_leaves_nothing(scores: Path, output: Path, reads: Reads) -> None:
    reads.begin(fail_at=0)
    run(scores, output, "--resume").refused("cannot be read")
    assert names(output) == []


def test_interrupted_in_this_process(scores: Path, output: Path, reads: Reads) -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    reads.error = KeyboardInterrupt
    broken_off(scores, output, reads).refused(
        "interrupted by SIGINT after ", "blocks (", "%); what is done is kept", status=130
    )
    reads.begin(fail_at=7)
    run(scores, output.with_name("other.npy")).refused("nothing was written", status=130)
    assert names(output) == KEPT
    assert before == {number: signal.getsignal(number) for number in before}


def test_without_resume_nothing_of_another_run_is_used(
    scores: Path, output: Path, reads: Reads
) -> None:
    broken_off(scores, output, reads).refused("goes on")
    before = {name: (output.parent / name).read_bytes() for name in KEPT}
    run(scores, output).accepted()
    assert np.array_equal(np.load(output), fast_argmax(DATA, 0))
    assert {name: (output.parent / name).read_bytes() for name in KEPT} == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--axis=1",), "--axis was 0 and is 1"),
        (("--no-keepdims",), "--keepdims was True and is False"),
        (("--select-last-index",), "--select-last-index was False and is True"),
        (("--dtype=uint8",), "--dtype was 'int64' and is 'uint8'"),
    ],
)
def test_another_option(
    options: tuple[str, ...], words: str, scores: Path, output: Path, reads: Reads
) -> None:
    broken_off(scores, output, reads).refused("goes on")
    before = {name: (output.parent / name).read_bytes() for name in KEPT}
    run(scores, output, "--resume", *options).refused(
        words, f"delete {output}.part and {output}.resume, or run without --resume"
    )
    assert {name: (output.parent / name).read_bytes() for name in names(output)} == before
    run(scores, output, "--resume", "--axis=-2").accepted()  # the same axis


def test_another_input(tmp_path: Path, scores: Path, output: Path, reads: Reads) -> None:
    broken_off(scores, output, reads).refused("goes on")
    np.save(tmp_path / "other.npy", DATA)
    run(tmp_path / "other.npy", output, "--resume").refused("the input was ", "other.npy")
    np.save(tmp_path / "new.npy", DATA)
    (tmp_path / "new.npy").replace(scores)
    run(scores, output, "--resume").refused("the input's files changed", "delete ")


def test_a_chunk_that_was_written_since(tmp_path: Path, output: Path, reads: Reads) -> None:
    zarr = pytest.importorskip("zarr", minversion="3", reason="zarr is not installed")
    made = zarr.create_array(tmp_path / "scores.zarr", data=DATA, chunks=(7, 9))
    broken_off(tmp_path / "scores.zarr", output, reads).refused("goes on")
    made[50, 30] = 100
    run(tmp_path / "scores.zarr", output, "--resume").refused("the input's files changed")


def test_another_version(
    scores: Path, output: Path, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken_off(scores, output, reads).refused("goes on")
    monkeypatch.setattr("onnx_argmax.cli.array.__version__", "7.0")
    run(scores, output, "--resume").refused("the package's version was ", "and is '7.0'")


def rewritten(journal: Path, **members: Any) -> None:
    with np.load(journal) as found:
        np.savez(journal.with_suffix(".npz"), **{**found, **members})
    journal.with_suffix(".npz").replace(journal)


def as_bytes(text: str) -> Any:
    return np.frombuffer(text.encode(), np.uint8)


def forgotten(journal: Path) -> None:
    """Partial results of nothing, where blocks are done."""
    with np.load(journal) as found:
        states = {name: found[name].copy() for name in found.files if name.startswith("state_")}
    assert states
    for state in states.values():
        state["index"][..., 0] = -1
    rewritten(journal, **states)


def moved(journal: Path) -> None:
    journal.with_suffix(".npz").replace(journal)


def lies(journal: Path, what: str, instead: str) -> None:
    """Another text in the headers of its arrays, with the right checksums."""
    with zipfile.ZipFile(journal) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(journal, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content.replace(what.encode(), instead.encode()))


def packed(journal: Path) -> None:
    """Sixty-four megabytes of zeros in a member that takes little."""
    with (
        zipfile.ZipFile(journal, "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("state_1.npy", "w", force_zip64=True) as member,
    ):
        np.lib.format.write_array_header_1_0(
            member, {"descr": "|u1", "fortran_order": False, "shape": (1 << 26,)}
        )
        for _ in range(64):
            member.write(bytes(1 << 20))


def replaced(journal: Path) -> None:
    """By an array of another shape, in the place of the result."""
    journal.with_name(f"{journal.name}.npy").replace(journal.with_suffix(".part"))


@pytest.mark.parametrize(
    "damage",
    [
        lambda journal: journal.write_bytes(journal.read_bytes()[:-30]),
        lambda journal: journal.write_bytes(b""),
        lambda journal: journal.write_text("no journal"),
        lambda journal: rewritten(journal, facts=np.array([1, 2], np.uint8)),
        lambda journal: rewritten(journal, blocks=np.array([[0, 10**9]])),
        lambda journal: rewritten(journal, blocks=np.array([[-1, 3]])),
        lambda journal: rewritten(journal, blocks=np.array([1, 2, 3])),
        lambda journal: rewritten(journal, lengths=np.array([3])),
        lambda journal: rewritten(journal, lengths=np.array([0, 5])),
        lambda journal: rewritten(journal, state_0=np.zeros((1, 1), "i8")),
        lambda journal: rewritten(journal, state_x=np.zeros((1, 1), "i8")),
        lambda journal: rewritten(journal, state_99=np.zeros((1, 1), "i8")),
        lambda journal: rewritten(journal, facts=np.array([{}], object)),
        lambda journal: rewritten(journal, facts=as_bytes('{"format": 7}')),
        lambda journal: rewritten(journal, facts=as_bytes("[" * 100_000)),
        lambda journal: rewritten(journal, facts=as_bytes("[1, 2]")),
        lambda journal: rewritten(journal, facts=np.zeros(2, "f8")),
        lambda journal: rewritten(journal, blocks=np.array([[0, 3], [2, 5]])),
        lambda journal: rewritten(journal, blocks=np.array([[2**63 - 9, 2**63 - 1]])),
        lambda journal: rewritten(journal, lengths=np.array([1, 2**62])),
        lambda journal: rewritten(journal, lengths=np.zeros((0, 2), np.int64)),
        lambda journal: rewritten(journal, other=np.zeros(3)),
        lambda journal: rewritten(journal, state_00=np.zeros(3)),
        lambda journal: journal.write_text('{"version": 1, "blocks": [1, 2, 3]}'),
        lambda journal: journal.write_bytes(np.random.default_rng(0).bytes(5000)),
        lambda journal: journal.write_bytes(b"PK\3\4" + np.random.default_rng(0).bytes(5000)),
        lambda journal: np.savez(journal.with_suffix(".npz"), np.zeros(3)) or moved(journal),
        lambda journal: lies(journal, "(1, 33), }" + " " * 12, "(9000000000000, 33), }"),
        lambda journal: lies(journal, "'shape': (2,)", "'shape': (-2,)"),
        lambda journal: lies(journal, "'<i8'", "'|O' "),
        lambda journal: packed(journal),
        lambda journal: forgotten(journal),
        lambda journal: journal.with_suffix(".part").unlink(),
        lambda journal: os.truncate(journal.with_suffix(".part"), 200),
        lambda journal: journal.with_suffix(".part").write_bytes(b"1 2 3"),
        lambda journal: np.save(journal, np.zeros(3)) or replaced(journal),
    ],
)
def test_damage(
    damage: Callable[[Path], object], scores: Path, output: Path, reads: Reads
) -> None:
    broken_off(scores, output, reads).refused("goes on")
    damage(Path(f"{output}.resume"))
    before = {name: (output.parent / name).read_bytes() for name in names(output)}
    tracemalloc.start()
    outcome = run(scores, output, "--resume")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    outcome.refused(f"--resume: {output}.resume cannot be used: ", "or run without --resume")
    assert f"delete {output}." in outcome.err
    assert len(outcome.err) < 1000
    assert peak < 32 << 20
    assert {name: (output.parent / name).read_bytes() for name in names(output)} == before


def test_every_byte_of_a_journal(scores: Path, output: Path, reads: Reads) -> None:
    """A damaged one is refused, or holds what the whole one holds."""
    broken_off(scores, output, reads, "1").refused("goes on")
    journal, part = Path(f"{output}.resume"), Path(f"{output}.part")
    right, written = journal.read_bytes(), part.read_bytes()
    expected = fast_argmax(DATA, 1)
    random = np.random.default_rng(0)
    for place in random.choice(len(right), 60, replace=False):
        damaged = bytearray(right)
        damaged[place] ^= 1 << int(random.integers(8))
        journal.write_bytes(damaged)
        part.write_bytes(written)
        outcome = run(scores, output, "--resume", axis="1")
        if outcome.status == 0:
            assert np.array_equal(np.load(output), expected)
        else:
            outcome.refused(f"--resume: {journal}", "delete ", "or run without --resume")


OBSTACLES: dict[str, Callable[[Path, Path], object]] = {
    "link": lambda path, other: path.symlink_to(other),
    "link_to_nothing": lambda path, other: path.symlink_to(other.with_name("nothing")),
    "folder": lambda path, other: path.mkdir(),
    "pipe": lambda path, other: os.mkfifo(path),
}


@pytest.mark.parametrize("kind", [*OBSTACLES, "second_name"])
@pytest.mark.parametrize("name", [".npy.part", ".npy.resume", ".npy.resume.part", ".zarr.part"])
def test_what_somebody_else_put_there(
    name: str, kind: str, tmp_path: Path, scores: Path, output: Path, reads: Reads
) -> None:
    if name == ".zarr.part":
        pytest.importorskip("zarr", minversion="3", reason="zarr is not installed")
        output = output.with_suffix(".zarr")
    other = tmp_path / "other"
    other.write_bytes(b"")  # so that it looks like one of a run that was killed as it began
    there = output.with_name(f"labels{name}")
    if kind == "second_name":
        if not name.endswith("y.part") and not name.endswith("r.part"):
            return  # these are replaced, and never written where they are
        os.link(other, there)
    else:
        OBSTACLES[kind](there, other)
    words = {"folder": "a folder", "pipe": "a pipe", "second_name": "2 names"}
    before = there.lstat()
    run(scores, output, "--resume").refused(
        str(there), words.get(kind, "a symbolic link to "), "delete "
    )
    assert there.lstat().st_ino == before.st_ino
    assert other.read_bytes() == b""
    assert names(output) == [there.name]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "out", "scores.npy"]


def test_a_part_of_no_journal(scores: Path, output: Path, reads: Reads) -> None:
    Path(f"{output}.part").write_text("somebody's own")
    run(scores, output, "--resume").refused("labels.npy.part is there without")
    assert Path(f"{output}.part").read_text() == "somebody's own"
    Path(f"{output}.part").write_bytes(b"")  # of a run that was killed as it began
    run(scores, output, "--resume").accepted()


def test_two_at_once(scores: Path, output: Path, reads: Reads) -> None:
    from onnx_argmax.cli.array_output import PartFile

    broken_off(scores, output, reads).refused("goes on")
    other = PartFile(output, (1, 40), np.dtype(np.int64), stays=True)
    run(scores, output, "--resume").refused("another process is writing", "labels.npy.part")
    other.close()
    run(scores, output, "--resume").accepted()


# Real signals to a real process.

SLOW = """
import itertools, os, signal, sys, time
from onnx_argmax import _block_plan
from onnx_argmax._block_sources import FileSource
from onnx_argmax.cli import array_journal, main

# A process that a shell started in the background ignores it, and what it starts does too.
signal.signal(signal.SIGINT, signal.default_int_handler)
_block_plan._BLOCK_BYTES, _block_plan._LEAST_BLOCK_BYTES, _block_plan._LEAST_ALONG_AXIS = 400, 1, 3
array_journal._LEAST_SECONDS = array_journal._SHARE = 0
read, numbers = FileSource.read, itertools.count(1)

def slow(source, box, buffer):
    os.write(1, b".")
    time.sleep(0.01 if next(numbers) <= 8 else 1)  # there is time for a signal
    return read(source, box, buffer)

FileSource.read = slow
sys.exit(main(sys.argv[1:]))
"""


def signalled(number: int, source: Path, output: Path, *options: str, axis: str) -> Outcome:
    """Send a signal in the middle of a run, at its tenth block."""
    with subprocess.Popen(
        [
            *(sys.executable, "-c", SLOW, "array", str(source), f"--axis={axis}", "--threads=2"),
            *(f"--output={output}", *options),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read(10) == "." * 10
        while options and blocks_kept(output) < 6:
            time.sleep(0.01)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    return Outcome(process.returncode, "", err)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal(number: signal.Signals, scores: Path, output: Path) -> None:
    outcome = signalled(number, scores, output, axis="0")
    outcome.refused(f"interrupted by {number.name}", "nothing was written", status=128 + number)
    assert re.search(r"after ([1-9]|1[0-2]) of \d+ blocks \(\d+\.\d %\)", outcome.err)
    assert names(output) == []


@pytest.mark.parametrize("axis", ["0", "1", "none"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_and_on(
    number: signal.Signals, axis: str, scores: Path, output: Path, reads: Reads
) -> None:
    outcome = signalled(number, scores, output, "--resume", axis=axis)
    if number == signal.SIGKILL:
        assert outcome == Outcome(-number, "", "")
    else:
        outcome.refused("is kept in", "the same command goes on", status=128 + number)
    assert [name for name in names(output) if not name.endswith("resume.part")] == KEPT
    kept = blocks_kept(output)
    run(scores, output, "--resume", axis=axis).accepted()
    assert names(output) == ["labels.npy"]
    assert np.array_equal(
        np.load(output), fast_argmax(DATA, None if axis == "none" else int(axis))
    )
    read = len(reads.boxes)
    reads.begin()
    run(scores, output, axis=axis).accepted()
    assert read == len(reads.boxes) - kept


def test_a_signal_that_the_process_ignores(scores: Path, output: Path) -> None:
    from onnx_argmax.cli.interruption import Stopped, raised_signals

    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with raised_signals():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    with raised_signals() as ignore:
        with pytest.raises(Stopped, match="SIGTERM"):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)  # what is begun is put away
        ignore()
