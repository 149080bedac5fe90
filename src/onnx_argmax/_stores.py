# SPDX-License-Identifier: Apache-2.0
"""Arrays in files and folders, opened by their path and not read yet."""

from __future__ import annotations

import importlib
import itertools
import os
import re
import warnings
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from onnx_argmax._extras import raise_not_installed
from onnx_argmax._files import file_size
from onnx_argmax._linear_file import FileLayout

__all__ = [
    "arrays_in",
    "npy_layout",
    "opened_store",
    "refuse_url",
    "refuse_within_zarr",
    "store_path",
    "taken_apart",
]

_NPY_MAGIC: Final = b"\x93NUMPY"
_HDF5_MAGIC: Final = b"\x89HDF\r\n\x1a\n"
_ZIP_MAGIC: Final = b"PK\x03\x04"
_HDF5_SUFFIXES: Final = (".h5", ".hdf5", ".he5", ".nc")
_COLON: Final = re.compile(r"(?<=\.h5|\.nc):|(?<=\.hdf5):|(?<=\.he5):", re.IGNORECASE)
"""What may stand between the path of a file and the name of a dataset in it."""
_URL: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")
_ZARR_FILES: Final = ("zarr.json", ".zarray", ".zgroup")
_ALLOWED: Final = "allowed are FILE.npy, the folder of a Zarr array, and FILE.h5:DATASET"

_MOST_NAMED: Final = 10
_MOST_LOOKED_AT: Final = 1000
"""Of what a store or a folder holds, for a message: each group of a store in a cloud is a request
to it."""


@contextmanager
def opened_store(path: str | Path) -> Generator[Any]:
    """The array at a path, open meanwhile: a :class:`FileLayout`, a Zarr array, an h5py dataset.

    Parameters
    ----------
    path : str or Path
        ``FILE.npy``, the folder of a Zarr array (of version 2 or 3; within a group by its own
        path), or ``FILE.h5:DATASET`` (without ``:DATASET`` where the file holds one alone).

    Raises
    ------
    OSError
        When nothing is there, or it cannot be opened.
    ValueError
        When it is none of these, truncated, damaged, or holds several arrays.
    ModuleNotFoundError
        When zarr or h5py is needed and not installed.
    """
    if not str(path):
        raise ValueError(f"'': the path is empty; {_ALLOWED}")
    refuse_url(path)
    where, dataset = taken_apart(path)
    with ExitStack() as stack:
        if dataset is not None:
            yield _dataset(stack.enter_context(_hdf5_file(where)), where, dataset)
        elif where.is_dir():
            yield _zarr_array(where)
        else:
            yield from _of_file(where, stack)


def refuse_url(path: str | Path) -> None:
    """Raise a ValueError for what is no path: ``s3://bucket/scores.zarr``."""
    if _URL.match(str(path)):
        raise ValueError(
            f"{path}: a URL, which is not opened here; pass the array that zarr.open(...) gives, "
            "or dask.array.from_zarr(...) to onnx_argmax.argmax"
        )


def store_path(path: str | Path) -> Path:
    """The file or folder of what :func:`opened_store` takes."""
    return taken_apart(path)[0]


def taken_apart(path: str | Path) -> tuple[Path, str | None]:
    """The file or folder, and the name of the dataset in it.

    Both a folder and a dataset can have a name with ``.h5:`` in it, so what is there decides.
    """
    text, whole = str(path), Path(path)
    ends = [(found.start(), found.end()) for found in _COLON.finditer(text)]
    parts = [(Path(text[:end]), text[start:]) for end, start in ends]
    if not parts or whole.exists():
        return whole, None
    for file, dataset in parts:
        if file.is_file():
            return file, dataset
    # None is there. What lies in the name of a folder that is there is not the end of a file's.
    folder = next((len(str(parent)) for parent in whole.parents if parent.is_dir()), 0)
    return next(((file, name) for file, name in parts if len(str(file)) > folder), (whole, None))


def _of_file(path: Path, stack: ExitStack) -> Generator[Any]:
    try:
        file_size(path)
    except FileNotFoundError:
        refuse_within_zarr(path)
        raise
    except NotADirectoryError:
        raise NotADirectoryError(
            f"{path}: no such file: it would lie in another one, which is no folder; the dataset "
            "of an HDF5 file is named as FILE.h5:DATASET"
        ) from None
    with path.open("rb") as file:
        start = file.read(8)
    if start.startswith(_NPY_MAGIC):
        yield npy_layout(path)
    elif start == _HDF5_MAGIC or path.suffix.lower() in _HDF5_SUFFIXES:
        yield _dataset(stack.enter_context(_hdf5_file(path)), path, None)
    elif start.startswith(_ZIP_MAGIC):
        raise ValueError(
            f"{path}: a zip archive, of which no part is read alone; pass numpy.load(...)[NAME] "
            "of a .npz, and of a Zarr store in an archive the array that zarr.open(...) gives"
        )
    else:
        raise ValueError(
            f"{path}: neither a .npy file nor HDF5; {_ALLOWED}; pass numpy.memmap(...) of plain "
            "bytes, and of any other format the array that its library reads"
        )


def refuse_within_zarr(path: Path) -> None:
    """Raise a FileNotFoundError for a path that leads nowhere from the folder of a Zarr group.

    It says what the group holds.
    """
    text = str(path)
    ends = (found.start() for found in re.finditer(r"[:/]", text))
    folders = [Path(text[:end]) for end in ends if end and _is_zarr(Path(text[:end]))]
    if not folders:
        return
    found = _opened_zarr(folders[-1])
    if hasattr(found, "shape"):
        words = f"{folders[-1]} is a Zarr array itself, which has no name in it; pass its path"
    else:
        names = _listed(f"{folders[-1]}/{name}" for name in _names_in(found))
        words = f"{folders[-1]} is Zarr's, and the arrays in it are: {names}"
    raise FileNotFoundError(f"{path}: no such array; {words}")


def npy_layout(path: Path) -> FileLayout:
    """Where the array of a ``.npy`` file lies.

    Raises
    ------
    OSError, ValueError
        When it is no such file, truncated, damaged or pickled.
    """
    size = file_size(path)
    try:
        with path.open("rb") as file, warnings.catch_warnings(action="ignore"):
            version = np.lib.format.read_magic(file)
            read = getattr(np.lib.format, f"read_array_header_{min(version[0], 2)}_0")
            shape, fortran, dtype = read(file)
            offset = file.tell()
    except OSError:
        raise
    except Exception as error:  # NumPy's parser fails in any of Python's own ways
        raise ValueError(f"{path}: not a .npy file, or a damaged one: {error}") from error
    if dtype.hasobject:
        raise ValueError(
            f"{path}: it holds pickled Python objects, which can run code when they are read, and "
            "is refused; save it with a numeric dtype: numpy.save(file, array.astype(...))"
        )
    try:
        np.empty((0, *shape), dtype)  # refuses lengths that no array can have
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: damaged: no array has shape {shape}: {error}") from error
    layout = FileLayout.dense(path, offset, shape, dtype, fortran=fortran)
    needed = layout.extent()[1]
    if size < needed:
        raise ValueError(
            f"{path}: truncated: it has {size} bytes, but its array of shape {shape} and type "
            f"{dtype} reaches byte {needed}"
        )
    return layout


def _zarr_array(path: Path) -> Any:
    if not _is_zarr(path):
        inner = (str(path / name) for name in _zarr_folders_in(path))
        raise ValueError(
            f"{path}: a folder, and not that of a Zarr array; Zarr's in it: {_listed(inner)}; "
            f"{_ALLOWED}"
        )
    found = _opened_zarr(path)
    if not hasattr(found, "shape"):
        raise ValueError(
            f"{path}: a Zarr group; pass the path of an array in it: {_listed(_names_in(found))}"
        )
    return found


def _opened_zarr(path: Path) -> Any:
    """The array or group in a folder."""
    zarr = _library("zarr")
    try:
        return zarr.open(str(path), mode="r")
    except Exception as error:  # of any of its classes, or those of its store or codecs
        raise ValueError(f"{path}: Zarr cannot open it: {error}") from error


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise_not_installed(error, "data: the path of a Zarr array or of HDF5")


def _is_zarr(folder: Path) -> bool:
    return any((folder / name).exists() for name in _ZARR_FILES)


def _zarr_folders_in(folder: Path) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in itertools.islice(entries, _MOST_LOOKED_AT):
            if entry.is_dir() and _is_zarr(Path(entry)):
                yield entry.name


@contextmanager
def _hdf5_file(path: Path) -> Generator[Any]:
    file_size(path)
    h5py = _library("h5py")
    try:
        # Each chunk is read once, as a whole: a cache of them would only take memory.
        file = h5py.File(path, "r", rdcc_nbytes=0)
    except OSError as error:
        raise OSError(f"{path}: HDF5 cannot open it: {error}") from error
    with file:
        yield file


def _dataset(file: Any, path: Path, name: str | None) -> Any:
    import h5py

    if name is None:
        return _only_dataset(file, path)
    try:
        found = file[name]
    except Exception as error:  # KeyError, and of some names that HDF5 cannot look up others
        raise ValueError(
            f"{path}: no dataset {name!r} in it{_why_not(file, name)}; it holds {arrays_in(file)}"
        ) from error
    if isinstance(found, h5py.Group):
        raise ValueError(
            f"{path}: {name!r} is no dataset but a group; pass one in it, as {path}:"
            f"{name.rstrip('/')}/NAME: {arrays_in(found)}"
        )
    if not isinstance(found, h5py.Dataset):
        raise ValueError(f"{path}: {name!r} is no dataset; the file holds {arrays_in(file)}")
    return found


def _why_not(file: Any, name: str) -> str:
    """Of a name that is there and leads nowhere, where to."""
    import h5py

    try:
        link = file.get(name, getlink=True)
    except Exception:  # no such name, said in HDF5's own ways
        return ""
    match link:
        case h5py.ExternalLink():
            return f": it is a link to {link.path!r} in the file {link.filename!r}, not found"
        case h5py.SoftLink():
            return f": it is a link to {link.path!r}, not found"
        case _:
            return ""


def _only_dataset(file: Any, path: Path) -> Any:
    names = list(itertools.islice(_names_in(file), 2))
    if len(names) != 1:
        raise ValueError(f"{path}: it holds {arrays_in(file)}; name one, as {path}:NAME")
    return _dataset(file, path, names[0])


def arrays_in(group: Any) -> str:
    """Names of the arrays in a group of Zarr or h5py, at any depth, for a message."""
    return _listed(map(repr, _names_in(group)))


def _names_in(group: Any) -> Iterator[str]:
    """Paths of the arrays in a group, from there; one that several paths lead to comes once."""
    seen = set[Any]()
    groups = [(group, "")]
    while groups and len(seen) < _MOST_LOOKED_AT:
        inner, prefix = groups.pop()
        below: list[tuple[Any, str]] = []
        for name, found in _members(inner):
            number = getattr(found, "id", prefix + name)  # of h5py, equal for what is the same
            if number in seen:
                continue
            if hasattr(found, "keys"):
                seen.add(number)
                below.append((found, f"{prefix}{name}/"))
            elif found is None or hasattr(found, "shape"):
                seen.add(number)
                yield f"{prefix}{name}"
        groups += reversed(below)


def _members(group: Any) -> Iterator[tuple[str, Any]]:
    """What a group holds, by name; None for a link to another file, which is not opened."""
    if hasattr(group, "members"):
        yield from sorted(group.members())
        return
    for name in sorted(group):
        link = group.get(name, getlink=True) if hasattr(group, "file") else None
        kind = type(link).__name__
        if kind == "ExternalLink":
            yield name, None
        elif kind != "SoftLink":  # what it leads to is found by its own name
            yield name, group[name]


def _listed(names: Iterator[str]) -> str:
    found = sorted(itertools.islice(names, _MOST_LOOKED_AT))
    shown = ", ".join(found[:_MOST_NAMED]) or "none"
    if next(names, None) is not None:
        return f"{shown} and many more"
    more = len(found) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown
