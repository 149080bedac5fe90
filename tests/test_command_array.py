# SPDX-License-Identifier: Apache-2.0
"""``onnx-argmax array``: ArgMax of an array in a file."""

from __future__ import annotations

import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command import in_process, in_this_process

pytest.importorskip("typer")

SCORES = np.array([[2, 1, 2], [3, 10, 10]], np.float32)


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    return saved(tmp_path / "scores.npy", SCORES)


def saved(path: Path, array: Any) -> Path:
    np.save(path, array)
    return path


def result(tmp_path: Path, *arguments: str | Path) -> np.ndarray[Any, Any]:
    """Run the command with ``--output`` and load what it wrote."""
    output = tmp_path / "result.npy"
    printed = in_this_process("array", *arguments, "--output", output).accepted()
    array = np.load(output)
    assert f"{array.dtype} {array.shape}" in printed
    return array


def same(actual: np.ndarray[Any, Any], expected: Any, dtype: str = "int64") -> None:
    np.testing.assert_array_equal(actual, expected, strict=False)
    assert actual.shape == np.shape(expected)
    assert actual.dtype == np.dtype(dtype)


def test_printed_in_a_process_of_its_own(scores: Path) -> None:
    printed = in_process("array", scores, "--axis", "1").accepted()
    assert printed == "shape (2, 1), dtype int64\n[[0]\n [1]]\n"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--axis", "0"), [[1, 1, 1]]),
        (("--axis", "1"), [[0], [1]]),
        (("--axis", "-1"), [[0], [1]]),
        (("--axis=-2",), [[1, 1, 1]]),
        (("--axis", "1", "--keepdims"), [[0], [1]]),
        (("--axis", "1", "--no-keepdims"), [0, 1]),
        (("--axis", "1", "--select-last-index"), [[2], [2]]),
        (("--axis", "none"), [[4]]),
        (("--axis", "None", "--no-keepdims"), 4),
        (("--axis", "none", "--no-keepdims", "--select-last-index"), 5),
        (("--axis", "1", "--threads", "1"), [[0], [1]]),
    ],
    ids=str,
)
def test_options(options: tuple[str, ...], expected: Any, tmp_path: Path, scores: Path) -> None:
    same(result(tmp_path, scores, *options), expected)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
def test_report_3_narrow_result(dtype: str, tmp_path: Path, scores: Path) -> None:
    same(result(tmp_path, scores, "--axis", "1", "--dtype", dtype), [[0], [1]], dtype)


def test_report_3_too_narrow_a_result(tmp_path: Path) -> None:
    source = saved(tmp_path / "long.npy", np.zeros(257, np.uint8))
    in_this_process("array", source, "--axis", "0", "--dtype", "uint8").refused("257", "256")


@pytest.mark.parametrize(
    "array",
    [
        np.arange(24, dtype=">f4").reshape(2, 3, 4),
        np.asfortranarray(np.arange(24, dtype=np.int16).reshape(2, 3, 4)),
        np.arange(24, dtype=np.float16).reshape(2, 3, 4)[::-1],
        np.array([[[False, True], [True, True]]]),
    ],
    ids=["report_42_byte_swapped", "fortran", "float16", "report_14_bool"],
)
def test_arrays_of_every_kind(array: np.ndarray[Any, Any], tmp_path: Path) -> None:
    source = saved(tmp_path / "array.npy", array)
    same(result(tmp_path, source, "--axis", "1"), np.argmax(array, 1, keepdims=True))


def test_rank_0_and_empty(tmp_path: Path) -> None:
    same(result(tmp_path, saved(tmp_path / "scalar.npy", np.float32(5)), "--axis", "-1"), 0)
    empty = saved(tmp_path / "empty.npy", np.zeros((0, 3), np.float32))
    same(result(tmp_path, empty, "--axis", "1", "--no-keepdims"), np.zeros(0, np.int64))


def test_report_4_bfloat16(tmp_path: Path) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    raw, bits = tmp_path / "raw.npy", tmp_path / "bits.npy"
    # As integers, the bits of negative numbers are above those of all others.
    for values in ([1, np.nan, 3], [-1, 0.5, -2]):
        array = np.array(values, ml_dtypes.bfloat16)
        for source in (saved(raw, array), saved(bits, array.view(np.uint16))):
            same(result(tmp_path, source, "--axis", "0", "--bfloat16"), [1])
    # A plain uint16 stays one: here -2 has the largest bits.
    same(result(tmp_path, bits, "--axis", "0"), [2])
    in_this_process("array", raw, "--axis", "0").refused("raw.npy", "|V2", "--bfloat16")
    wide = saved(tmp_path / "wide.npy", np.zeros(3, np.float32))
    in_this_process("array", wide, "--axis", "0", "--bfloat16").refused("float32", "uint16")


def test_member_of_npz(tmp_path: Path) -> None:
    source = tmp_path / "several.npz"
    np.savez(source, scores=SCORES, other=-SCORES, **{"a/b:0": SCORES[::-1]})
    same(result(tmp_path, f"{source}:scores", "--axis", "0"), [[1, 1, 1]])
    same(result(tmp_path, f"{source}:other", "--axis", "0"), [[0, 0, 0]])
    same(result(tmp_path, f"{source}:a/b:0", "--axis", "0"), [[0, 0, 0]])
    in_this_process("array", source, "--axis", "0").refused("'scores', 'other'", f"{source}:NAME")
    in_this_process("array", f"{source}:scroes", "--axis", "0").refused(
        "no array 'scroes'", "'scores', 'other'"
    )


def test_npz_of_one_array(tmp_path: Path) -> None:
    source = tmp_path / "one.npz"
    np.savez_compressed(source, scores=SCORES)
    same(result(tmp_path, source, "--axis", "0"), [[1, 1, 1]])


def test_npz_of_none(tmp_path: Path) -> None:
    source = tmp_path / "none.npz"
    np.savez(source)
    in_this_process("array", source, "--axis", "0").refused("it holds no array")


def test_a_large_result_is_abbreviated(tmp_path: Path) -> None:
    source = saved(tmp_path / "wide.npy", np.zeros((1, 5000), np.uint8))
    printed = in_this_process("array", source, "--axis", "0").accepted()
    assert "shape (1, 5000), dtype int64" in printed
    assert "[[0 0 0 ... 0 0 0]]" in printed


# What the array function refuses is refused here in its words.
@pytest.mark.parametrize(
    ("array", "axis", "words"),
    [
        (SCORES, "2", "axis 2 is out of range for data of rank 2: allowed is -2 to 1"),
        (SCORES, "-3", "axis -3 is out of range"),
        (np.zeros((2, 0), np.float32), "1", "axis 1 of shape (2, 0) has length 0"),
        (np.zeros((2, 0), np.float32), "none", "flattened array of shape (2, 0) has length 0"),
        (np.zeros(2, np.complex64), "0", "complex64 is not supported"),
        (np.array(["a", "b"]), "0", "is not supported"),
        (np.zeros(2, "datetime64[s]"), "0", "is not supported"),
    ],
)
def test_report_25_and_35_what_argmax_refuses(
    array: np.ndarray[Any, Any], axis: str, words: str, tmp_path: Path
) -> None:
    source = saved(tmp_path / "array.npy", array)
    in_this_process("array", source, "--axis", axis).refused(words)


def npy_with_header(header: str) -> bytes:
    """A .npy file of version 1 with any text for a header, and 64 bytes of data."""
    text = f"{header}\n".encode("latin-1")
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(64)


def with_shape(shape: str) -> str:
    return f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}"


@pytest.mark.parametrize(
    "header",
    [
        with_shape(f"({10**40},)"),
        with_shape(f"(0, {10**40})"),
        with_shape("(True, 2)"),
        with_shape(f"({2**63 - 1}, 4)"),
        with_shape(f"({2**40}, {2**40})"),
        with_shape("(1, 2), '\\d': 1"),
        "(" * 5000,
        "-" * 9000 + "1",
        "{[]: 1}",
    ],
    ids=[
        *("huge", "huge and empty", "bool", "product wraps", "product wraps to 0"),
        *("warning", "brackets", "signs", "key"),
    ],
)
def test_a_header_that_numpy_stumbles_over(header: str, tmp_path: Path) -> None:
    content = npy_with_header(header)
    (tmp_path / "bad.npy").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "bad.npz", "w") as archive:
        archive.writestr("scores.npy", content)
    # In a process of its own, where warnings are shown and not raised.
    in_process("array", tmp_path / "bad.npy", "--axis", "0").refused("bad.npy ")
    in_process("array", tmp_path / "bad.npz", "--axis", "0").refused("bad.npz: array 'scores' ")


def test_an_encrypted_archive(tmp_path: Path) -> None:
    np.savez(tmp_path / "locked.npz", scores=SCORES)
    content = bytearray((tmp_path / "locked.npz").read_bytes())
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + flags] |= 1
    (tmp_path / "locked.npz").write_bytes(content)
    in_this_process("array", tmp_path / "locked.npz", "--axis", "0").refused(
        "locked.npz: array 'scores' is encrypted"
    )


def test_names_that_numpy_would_confuse(tmp_path: Path) -> None:
    source = tmp_path / "names.npz"
    np.savez(source, **{"a": SCORES, "a.npy": -SCORES})
    in_this_process("array", f"{source}:a.npy", "--axis", "0").refused("there twice", "'a.npy'")


@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_a_pipe_is_no_file(suffix: str, tmp_path: Path) -> None:
    pipe = tmp_path / f"pipe.{suffix}"
    os.mkfifo(pipe)
    in_process("array", pipe, "--axis", "0").refused(f"{pipe}: not a file", "write what comes out")


def write_bad_sources(folder: Path) -> None:
    whole = saved(folder / "whole.npy", SCORES).read_bytes()
    (folder / "cut_data.npy").write_bytes(whole[:-1])
    (folder / "cut_header.npy").write_bytes(whole[:30])
    (folder / "cut_magic.npy").write_bytes(whole[:3])
    (folder / "empty.npy").write_bytes(b"")
    (folder / "text.npy").write_text("1 2 3")
    (folder / "pickle.npy").write_bytes(pickle.dumps(SCORES))
    (folder / "npy.npz").write_bytes(whole)
    (folder / "text.npz").write_text("1 2 3")
    (folder / "text.txt").write_text("1 2 3")
    (folder / "folder.npy").mkdir()
    objects = np.array([{}, []], dtype=object)
    np.save(folder / "objects.npy", objects, allow_pickle=True)
    np.savez(folder / "objects.npz", objects=objects, allow_pickle=True)
    np.savez(folder / "whole.npz", scores=SCORES)
    archive = (folder / "whole.npz").read_bytes()
    (folder / "npz.npy").write_bytes(archive)
    (folder / "cut.npz").write_bytes(archive[:-30])
    damaged = bytearray(archive)
    damaged[archive.index(SCORES.tobytes())] ^= 1
    (folder / "damaged.npz").write_bytes(damaged)
    with zipfile.ZipFile(folder / "notes.npz", "w") as notes:
        notes.writestr("notes.txt", "1 2 3")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("missing.npy", "missing.npy: no such file"),
        ("missing.npz:scores", "missing.npz: no such file"),
        ("folder.npy", "not a file"),
        ("text.txt", "allowed are FILE.npy, FILE.npz"),
        ("cut_data.npy", "truncated or damaged"),
        ("cut_header.npy", "truncated or damaged"),
        ("cut_magic.npy", "not a .npy file"),
        ("empty.npy", "it is empty"),
        ("text.npy", "not a .npy file"),
        ("pickle.npy", "looks like a pickle, which is refused"),
        ("npz.npy", "give it the suffix .npz"),
        ("npy.npz", "it is a .npy file"),
        ("text.npz", "not a .npz file"),
        ("objects.npy", "pickled Python objects"),
        ("objects.npz:objects", "array 'objects' is pickled Python objects"),
        ("cut.npz", "truncated or damaged"),
        ("damaged.npz", "array 'scores' is truncated or damaged"),
        ("notes.npz:notes.txt", "not an array in .npy format"),
    ],
)
def test_bad_source(source: str, words: str, tmp_path: Path) -> None:
    write_bad_sources(tmp_path)
    in_this_process("array", tmp_path / source, "--axis", "0").refused(words)


def test_a_pickle_is_never_run(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "sprung",)

    trap = np.array([Trap()], dtype=object)
    np.save(tmp_path / "trap.npy", trap, allow_pickle=True)
    np.savez(tmp_path / "trap.npz", trap=trap)
    for name in ("trap.npy", "trap.npz"):
        in_this_process("array", tmp_path / name, "--axis", "0").refused("pickled")
    assert not (tmp_path / "sprung").exists()


def test_the_file_is_mapped_not_read(scores: Path) -> None:
    from onnx_argmax.cli.files import read_npy

    array = read_npy(scores)
    assert type(array) is np.ndarray
    assert isinstance(array.base, np.memmap)
    assert not array.flags.writeable


def test_the_output_path_is_checked_before_the_work(
    tmp_path: Path, scores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(*arguments: Any, **options: Any) -> None:
        raise AssertionError("the work was begun")

    monkeypatch.setattr("onnx_argmax.cli.array.read_source", work)
    (tmp_path / "folder.npy").mkdir()
    command = ("array", scores, "--axis", "0", "--output")
    in_this_process(*command, tmp_path / "none" / "x.npy").refused("no such folder", "none")
    in_this_process(*command, tmp_path / "folder.npy").refused("something else")
    in_this_process(*command, scores / "x.npy").refused("no such folder")
    in_this_process(*command, scores).refused("this is an input")
    (tmp_path / "old.npy").touch()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    in_this_process(*command, tmp_path / "old.npy").refused("read-only")


def test_a_folder_that_takes_no_file(
    tmp_path: Path, scores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, **options: Any) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "touch", refuse)
    output = tmp_path / "result.npy"
    in_this_process("array", scores, "--axis", "0", "--output", output).refused(
        "result.npy: cannot be written: Permission denied"
    )


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        OSError("No space left on device"),  # as NumPy says it
        KeyboardInterrupt(),
    ],
    ids=["number", "words", "interrupt"],
)
def test_a_failure_as_it_writes_leaves_everything_as_it_was(
    error: BaseException, tmp_path: Path, scores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "result.npy"
    output.write_bytes(b"what was there")
    before = sorted(tmp_path.iterdir())

    def write(file: Any, *arguments: Any, **options: Any) -> None:
        file.write(b"half")
        raise error

    monkeypatch.setattr(np.lib.format, "write_array", write)
    outcome = in_this_process("array", scores, "--axis", "0", "--output", output)
    if isinstance(error, OSError):
        outcome.refused("result.npy", "No space left on device")
    else:
        assert (outcome.status, outcome.err) == (130, "")
    assert output.read_bytes() == b"what was there"
    assert sorted(tmp_path.iterdir()) == before


def test_an_error_leaves_no_output(tmp_path: Path, scores: Path) -> None:
    in_this_process("array", scores, "--axis", "7", "--output", tmp_path / "x.npy").refused("axis")
    assert [path.name for path in tmp_path.iterdir()] == ["scores.npy"]


def test_threads_are_handed_on(scores: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int | None] = []

    def argmax(*arguments: Any, threads: int | None, **options: Any) -> Any:
        asked.append(threads)
        return np.zeros((), np.int64)

    monkeypatch.setattr("onnx_argmax.cli.array.argmax", argmax)
    in_this_process("array", scores, "--axis", "0").accepted()
    in_this_process("array", scores, "--axis", "0", "--threads", "3").accepted()
    assert asked == [None, 3]


def test_who_reads_the_old_output_keeps_it_whole(tmp_path: Path, scores: Path) -> None:
    output = tmp_path / "result.npy"
    output.write_bytes(b"what was there")
    with output.open("rb") as reader:
        in_this_process("array", scores, "--axis", "0", "--output", output).accepted()
        assert reader.read() == b"what was there"


def test_an_output_that_is_a_link_to_itself(tmp_path: Path, scores: Path) -> None:
    links = [tmp_path / "one.npy", tmp_path / "two.npy"]
    for link, target in (links, links[::-1]):
        link.symlink_to(target)
    in_this_process("array", scores, "--axis", "0", "--output", links[0]).refused(
        f"--output: {links[0]}: a symbolic link that leads to itself"
    )
    assert all(link.is_symlink() for link in links)
    in_this_process("array", links[0], "--axis", "0", "--output", tmp_path / "x.npy").refused(
        "one.npy: "
    )


def test_the_output_keeps_mode_and_link_of_what_it_replaces(tmp_path: Path, scores: Path) -> None:
    old = tmp_path / "old.npy"
    old.touch()
    old.chmod(0o640)
    link = tmp_path / "link.npy"
    link.symlink_to(old)
    in_this_process("array", scores, "--axis", "1", "--output", link).accepted()
    same(np.load(old), [[0], [1]])
    assert link.is_symlink()
    assert old.stat().st_mode & 0o777 == 0o640


def test_the_output_must_not_replace_the_source(tmp_path: Path, scores: Path) -> None:
    before = scores.read_bytes()
    (tmp_path / "link.npy").symlink_to(scores)
    for output in (scores, tmp_path / "link.npy"):
        in_this_process("array", scores, "--axis", "1", "--output", output).refused(
            "this is an input, which the result would replace"
        )
    assert scores.read_bytes() == before
