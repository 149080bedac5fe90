# SPDX-License-Identifier: Apache-2.0
"""The packages that not every user needs, and the extra that installs each."""

from __future__ import annotations

from typing import Final, NoReturn

__all__ = ["extra_of", "package_of", "raise_not_installed"]

_EXTRAS: Final = {
    "cli": ("rich", "typer"),
    "dask": ("dask", "distributed", "h5py", "zarr"),
    "onnx": ("google", "ml_dtypes", "onnx"),  # google holds protobuf
    "onnxruntime": ("onnxruntime",),
}


def package_of(error: ModuleNotFoundError) -> str:
    """What is missing, without the module's name within it."""
    return (error.name or "").partition(".")[0]


def extra_of(error: ModuleNotFoundError) -> str | None:
    """The extra that installs what is missing; None where none does."""
    package = package_of(error)
    return next((extra for extra, packages in _EXTRAS.items() if package in packages), None)


def raise_not_installed(error: ModuleNotFoundError, what: str) -> NoReturn:
    """Raise for ``what``, which cannot do without the package that is missing.

    Parameters
    ----------
    error : ModuleNotFoundError
        As the import raised it. One that no extra would mend is raised as it is.
    what : str
        Name of the module or function.

    Raises
    ------
    ModuleNotFoundError
        With the extra that installs the package.
    """
    extra = extra_of(error)
    if extra is None:
        raise error
    raise ModuleNotFoundError(
        f"{what} needs {package_of(error)}, which is not installed; install it: "
        f"pip install 'onnx-argmax[{extra}]'",
        name=error.name,
    ) from error
