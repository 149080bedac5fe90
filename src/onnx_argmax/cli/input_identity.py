# SPDX-License-Identifier: Apache-2.0
"""Whether an input is still what it was, without reading its elements."""

from __future__ import annotations

import glob
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from onnx_argmax._stores import taken_apart

__all__ = ["identity_of"]

_HDF5_MAGIC: Final = b"\x89HDF\r\n\x1a\n"
_PREFIXES: Final = ("HDF5_EXT_PREFIX", "HDF5_EXTFILE_PREFIX", "HDF5_VDS_PREFIX")
"""Variables of the environment by which HDF5 looks for other files."""
_MOST_LINKS: Final = 1000
"""Soft links may lead in a circle."""

_File = tuple[Path, str | None]
"""Path of an HDF5 file, and the dataset in it that counts; None for all of them."""


def identity_of(path: Path, source: str | None = None) -> list[Any] | None:
    """What changes when somebody writes to a file or to a folder of files.

    Parameters
    ----------
    path : Path
        A file, or the folder of a Zarr array.
    source : str, optional
        ``FILE.h5:DATASET``, where only what belongs to this dataset counts of other files.

    Returns
    -------
    list or None
        Of a file its size, its time of change in nanoseconds and its inode; of a folder a hash
        over the relative path, size and time of all files in it, links followed. Behind those of
        an HDF5 file comes a hash over the paths, sizes, times and inodes of other files that its
        datasets lie in, by external links, external storage or virtual datasets, where there are
        any. As JSON has it. None where nothing is.

    Notes
    -----
    A file of a folder takes some 4 microseconds and no memory, so that a store of a million chunks
    takes some 4 seconds. A file behind an HDF5 file takes 0.2 milliseconds and, where no dataset
    is named, each name in it 0.1.
    """
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            return [_hash_of(_lines_of_folder(path))]
        identity = [found.st_size, found.st_mtime_ns, found.st_ino]
        if not _is_hdf5(path):
            return identity
    except (OSError, ValueError):  # gone, or never there; who reads it says what is wrong
        return None
    others = _files_behind(path, None if source is None else taken_apart(source)[1])
    return [*identity, _hash_of(map(_line_of_file, others))] if others else identity


def _hash_of(lines: Iterator[bytes]) -> str:
    """The same in whatever order they come, so that they need not be held to be sorted."""
    total = 0
    for line in lines:
        total += int.from_bytes(hashlib.sha256(line).digest(), "big")
    return f"{total % (1 << 256):064x}"


def _lines_of_folder(folder: Path) -> Iterator[bytes]:
    """One for each file and for each folder that cannot be listed."""
    found = folder.stat()
    folders = [(os.fspath(folder), "", frozenset({(found.st_dev, found.st_ino)}))]
    while folders:
        where, prefix, above = folders.pop()
        try:
            with os.scandir(where) as entries:
                for entry in entries:
                    name = f"{prefix}{entry.name}"
                    try:
                        found = entry.stat()
                    except OSError as error:  # a link that leads nowhere
                        yield b"%s\0%d\0" % (os.fsencode(name), error.errno or 0)
                        continue
                    if not stat.S_ISDIR(found.st_mode):
                        size, changed = found.st_size, found.st_mtime_ns
                        yield b"%s\0%d\0%d\0" % (os.fsencode(name), size, changed)
                    elif (found.st_dev, found.st_ino) not in above:  # no link back up
                        here = above | {(found.st_dev, found.st_ino)}
                        folders.append((entry.path, f"{name}/", here))
        except OSError as error:
            yield b"%s\0%d\0" % (os.fsencode(prefix), error.errno or 0)


def _line_of_file(path: Path) -> bytes:
    name = os.fsencode(path)
    try:
        found = path.stat()
    except (OSError, ValueError):  # there is none, and there may be one later
        return name + b"\0"
    return b"%s\0%d\0%d\0%d\0" % (name, found.st_size, found.st_mtime_ns, found.st_ino)


def _is_hdf5(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_HDF5_MAGIC)) == _HDF5_MAGIC


def _files_behind(path: Path, dataset: str | None) -> set[Path]:
    """Other files that the datasets of an HDF5 file lie in, and those that HDF5 would look for."""
    found = set[Path]()
    looked_into = set[_File]()
    begun: list[_File] = [(path.absolute(), dataset)]
    while begun:
        one = begun.pop()
        if one in looked_into:
            continue
        looked_into.add(one)
        found.add(one[0])
        begun += _files_in(*one, found)
    return found - {path.absolute()}


def _files_in(path: Path, dataset: str | None, found: set[Path]) -> list[_File]:
    """Add the files that one file names, and give those with a dataset to look into."""
    further: list[_File] = []
    try:
        import h5py

        if not _is_hdf5(path):
            return further
        with h5py.File(path, "r") as file:
            for name in _all_names(file) if dataset is None else [dataset]:
                with suppress(Exception):  # what one leads to is damaged
                    further.extend(_files_of(file, name, path, found))
    except Exception:  # in HDF5's own ways: it is damaged; who reads it says so
        pass
    return further


def _all_names(file: Any) -> list[str]:
    names: list[str] = []

    def visit(name: str, link: object) -> None:
        names.append(name)

    file.visititems_links(visit)
    return names


def _files_of(file: Any, name: str, path: Path, found: set[Path]) -> Iterator[_File]:
    """The files that one name leads to."""
    import h5py

    begun, here, parts = path, file, name.split("/")[::-1]
    for _ in range(_MOST_LINKS):
        if not parts:
            break
        part = parts.pop()
        if part in ("", "."):
            continue
        link = here.get(part, getlink=True)
        if isinstance(link, h5py.SoftLink):
            here = here.file if link.path.startswith("/") else here
            parts += link.path.split("/")[::-1]
            continue
        if isinstance(link, h5py.ExternalLink):
            found.update(_places(link.filename, path))
        here = here.get(part)
        if here is None:
            return
        path = Path(here.file.filename).absolute()
        found.add(path)
    if not isinstance(here, h5py.Dataset):
        if path != begun:  # a group elsewhere, of which any dataset may be meant
            yield path, None
        return
    for other, _, _ in here.external or ():
        found.update(_places(other, path))
    if here.is_virtual:
        for mapped in here.virtual_sources():
            is_here = mapped.file_name == "."
            for place in [path] if is_here else _places(mapped.file_name, path):
                found.add(place)
                yield place, None if "%" in mapped.dset_name else mapped.dset_name


def _places(name: str, path: Path) -> Iterator[Path]:
    """Where HDF5 looks for a file that another one names; of a pattern all files that fit."""
    prefixes = (os.environ[name] for name in _PREFIXES if name in os.environ)
    folders = [path.parent, Path.cwd(), *map(Path, prefixes)]
    for folder in dict.fromkeys(folders):
        whole = os.path.join(folder, name)  # the name alone where it is absolute
        yield Path(whole)
        if "%" in name:  # %b is the number of a block
            pattern = glob.escape(whole).replace("%b", "*").replace("%%", "%")
            yield from map(Path, glob.glob(pattern))
