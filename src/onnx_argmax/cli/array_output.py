# SPDX-License-Identifier: Apache-2.0
"""The result of ``onnx-argmax array`` on its way to a file: boxes written beside, then renamed."""

from __future__ import annotations

import errno
import fcntl
import io
import math
import os
import shutil
import stat
from pathlib import Path
from typing import Any, Final

import numpy as np

from onnx_argmax._boxes import Box
from onnx_argmax._linear_file import FileLayout, LinearFile
from onnx_argmax._memory_size import size_text
from onnx_argmax._stores import npy_layout
from onnx_argmax.cli.errors import CommandError
from onnx_argmax.cli.exchange import exchange
from onnx_argmax.cli.outputs import (
    beside,
    is_beside,
    permissions_of,
    replaced_by,
    what_is_there,
)

__all__ = ["PartFile", "refuse_aside"]

_Array = np.ndarray[Any, Any]

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class PartFile:
    """A ``.npy`` that takes boxes of a result and is not whole yet.

    A block target, also for a result that goes to a Zarr array: a block of the walk is seldom a
    chunk of it, and a chunk that was written in parts would not outlive a kill.

    Parameters
    ----------
    output
        Where the result goes.
    shape, dtype
        Of the result.
    stays
        Whether it is found again by its name, for a later run to go on with.

    Raises
    ------
    CommandError
        When it cannot be opened, or another process has it.
    """

    def __init__(
        self, output: Path, shape: tuple[int, ...], dtype: np.dtype[Any], *, stays: bool
    ) -> None:
        self.output, self.target = output, replaced_by(output)
        self.path = part_of(output) if stays else beside(self.target)
        self._shape, self._dtype = shape, dtype
        self._file: LinearFile | None = None
        self._folder: Path | None = None
        """A Zarr array that has not its name yet."""
        self._refuse(what_is_there(self.path))
        new = 0 if stays else os.O_EXCL
        try:
            self._descriptor = os.open(
                self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | new, 0o666
            )
        except OSError as error:
            raise self._failed(error) from error
        try:
            self._check_is_own()
            self._lock()
        except BaseException:
            os.close(self._descriptor)
            raise
        self.is_new = os.fstat(self._descriptor).st_size == 0

    def _refuse(self, there: str | None) -> None:
        if there is not None:
            raise CommandError(
                f"--output: {self.output}: it is written as {self.path} first, which is {there}; "
                "delete that or move it away, or run without --resume"
            )

    def _check_is_own(self) -> None:
        found = os.fstat(self._descriptor)
        if not stat.S_ISREG(found.st_mode):
            self._refuse("no file")
        if found.st_nlink > 1:
            self._refuse(
                f"a file with {found.st_nlink} names (hard links), under all of which it would "
                "change"
            )

    def _lock(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = self._has_its_name()
        except BlockingIOError:
            held = False
        if not held:
            raise CommandError(
                f"--output: {self.output}: another process is writing {self.path}; wait for its "
                "end, or choose another output"
            )

    def _has_its_name(self) -> bool:
        """Whether its name leads to this file still, and by no link."""
        try:
            return os.path.samestat(os.fstat(self._descriptor), self.path.lstat())
        except FileNotFoundError:
            return False

    def reserve(self) -> None:
        """Write the header, and have the disk give all the space now.

        Raises
        ------
        CommandError
            When it has not as much.
        """
        header = io.BytesIO()
        description = np.lib.format.dtype_to_descr(self._dtype)
        np.lib.format.write_array_header_1_0(
            header, {"descr": description, "fortran_order": False, "shape": self._shape}
        )
        start = header.getvalue()
        needed = len(start) + math.prod(self._shape) * self._dtype.itemsize
        try:
            os.posix_fallocate(self._descriptor, 0, needed)
            os.pwrite(self._descriptor, start, 0)
        except OSError as error:
            raise self._failed(error, needed) from error
        self._open(FileLayout.dense(self.path, len(start), self._shape, self._dtype))

    def go_on(self) -> None:
        """Take up what an earlier run wrote.

        Raises
        ------
        OSError, ValueError, CommandError
            When it holds another array, or is damaged.
        """
        layout = npy_layout(self.path)
        if layout != FileLayout.dense(self.path, layout.offset, self._shape, self._dtype):
            raise CommandError(
                f"{self.path}: it holds an array of shape {layout.shape} and type {layout.dtype}, "
                f"not of {self._shape} and {self._dtype}"
            )
        self._open(layout)

    def _open(self, layout: FileLayout) -> None:
        self._file = LinearFile(layout, writable=True)
        if not self._has_its_name():  # it was opened by its name once more
            raise CommandError(
                f"--output: {self.output}: {self.path} was replaced by another process meanwhile; "
                "choose another output"
            )

    @property
    def file(self) -> LinearFile:
        """The array in the file, once there is one."""
        assert self._file is not None
        return self._file

    def memory(self, box: Box) -> _Array | None:
        """None: every box is written by :meth:`write`."""
        return None

    def memory_bytes(self, lengths: tuple[int, ...]) -> int:
        """0: writing a box takes no more than the copy of it that the walk counts."""
        return 0

    def write(self, box: Box, indices: _Array) -> None:
        """Take the indices of a box."""
        self.file.write(box, indices)

    def sync(self) -> None:
        """Have what was written outlive a loss of power."""
        self.file.sync()

    def close(self) -> None:
        """Let go of the file, which stays unless it is empty.

        A Zarr array that got no name is gone.
        """
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._file is not None:
            self._file.close()
        if os.fstat(self._descriptor).st_size == 0 and self._has_its_name():
            self.remove()
        os.close(self._descriptor)

    def remove(self) -> None:
        """Have it gone."""
        self.path.unlink(missing_ok=True)

    def prepare(self) -> Path:
        """The whole result in its final form, under a name of its own still.

        Raises
        ------
        CommandError
            When it cannot be written.
        """
        try:
            self.sync()
            if self.output.suffix.lower() == ".zarr":
                return self._as_zarr()
            mode = permissions_of(self.target)
            if mode is not None:
                os.fchmod(self._descriptor, mode)
        except OSError as error:
            raise self._failed(error) from error
        return self.path

    def _as_zarr(self) -> Path:
        from onnx_argmax.cli.zarr_output import write_zarr

        self._folder = beside(self.target)
        write_zarr(self._folder, self.file)
        return self._folder

    def finish(self, whole: Path) -> str:
        """Give what :meth:`prepare` made its final name.

        Returns
        -------
        str
            What the user is to know of it; mostly nothing.

        Raises
        ------
        CommandError
            When it cannot be renamed; what was there before stays.
        """
        try:
            if not whole.is_dir():
                whole.replace(self.target)
                return ""
            replaced = self._replace_folder(whole)
        except OSError as error:
            raise self._failed(error) from error
        self._folder = None
        self.remove()
        return "" if replaced is None else _deleted(replaced)

    def _replace_folder(self, whole: Path) -> Path | None:
        """Where what was replaced lies now, if anything was.

        A folder takes the place of an empty one alone.
        """
        if not self.target.exists():
            whole.rename(self.target)
            return None
        if exchange(whole, self.target):
            return whole
        aside = aside_of(self.output)
        self.target.rename(aside)
        try:
            whole.rename(self.target)
        except OSError:
            aside.rename(self.target)
            raise
        return aside

    def forget(self, name: str) -> None:
        """Delete the folder of :meth:`prepare`, by its name, that a run that was killed left."""
        folder = self.target.with_name(name)
        if is_beside(folder) and what_is_there(folder) == "a folder":
            shutil.rmtree(folder, ignore_errors=True)

    def _failed(self, error: OSError, needed: int = 0) -> CommandError:
        reason = error.strerror or str(error)
        if needed and error.errno in _FULL:
            free = shutil.disk_usage(self.target.parent).free
            reason += f": {size_text(needed)} are needed, {size_text(free)} are free"
        return CommandError(f"--output: {self.output}: cannot be written: {reason}")


def _deleted(folder: Path) -> str:
    shutil.rmtree(folder, ignore_errors=True)
    return f"; what it replaced lies in {folder}, which you may delete" if folder.exists() else ""


def refuse_aside(output: Path) -> None:
    """Refuse an output that a run was killed at as it replaced it, in two steps.

    Raises
    ------
    CommandError
        When what was there before lies aside; the message says where, and what to do.
    """
    target, aside = replaced_by(output), aside_of(output)
    if not os.path.lexists(aside):
        return
    if target.exists():
        words = f"delete {aside}, or move it away"
    else:
        words = f"rename {aside} to {target} to have it back, or delete it"
    raise CommandError(
        f"--output: {output}: {aside} is there, which a run that is killed as it replaces a Zarr "
        f"array leaves of what was there before; {words}"
    )


def aside_of(output: Path) -> Path:
    """Where a folder lies as it is replaced, on a system that cannot do it in one step."""
    target = replaced_by(output)
    return target.with_name(f"{target.name}.replaced")


def part_of(output: Path) -> Path:
    """Where a result lies that a later run can go on with."""
    target = replaced_by(output)
    return target.with_name(f"{target.name}.part")
