# SPDX-License-Identifier: Apache-2.0
"""Where the execution provider's library is, what it is called, and its registration."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Final

__all__ = [
    "PROVIDER",
    "devices",
    "get_ep_name",
    "get_ep_names",
    "get_library_path",
    "register",
    "runtime",
    "unregister",
]

PROVIDER: Final = "OnnxArgMaxExecutionProvider"
"""The provider's name; the library uses the same (``src/ort/names.h``)."""

_REGISTRATION: Final = "onnx_argmax"
_OLDEST_RUNTIME: Final = (1, 24)
_LIBRARY: Final = {
    "darwin": "libonnx_argmax_ep.dylib",
    "win32": "onnx_argmax_ep.dll",
}.get(sys.platform, "libonnx_argmax_ep.so")

# Paths by registration name, as far as they were registered here.
_registered: dict[str, str] = {}


def get_library_path() -> str:
    """Absolute path of the execution provider's library, for any program that uses ONNX Runtime.

    onnxruntime's Python package is not needed for it.

    Raises
    ------
    FileNotFoundError
        When this installation was built without it.
    """
    path = Path(__file__).resolve().parent / _LIBRARY
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no {path}: this installation was built without the execution provider; "
            "install onnx-argmax anew without -DONNX_ARGMAX_ORT=OFF"
        )
    return str(path)


def get_ep_name() -> str:
    """Name of the execution provider, ``"OnnxArgMaxExecutionProvider"``."""
    return PROVIDER


def get_ep_names() -> list[str]:
    """Names of all execution providers of the library: the one of :func:`get_ep_name`."""
    return [PROVIDER]


def runtime() -> ModuleType:
    """onnxruntime, if it is there and young enough.

    Raises
    ------
    ImportError
        When it is missing, cannot be imported, or is older than 1.24.
    """
    needed = ".".join(map(str, _OLDEST_RUNTIME))
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError(
            f"onnx_argmax.ort needs onnxruntime {needed} or later, which cannot be imported "
            f"({error}); install it: pip install 'onnx-argmax[onnxruntime]'"
        ) from error
    found = tuple(int(part) for part in onnxruntime.__version__.split(".")[:2])
    if found < _OLDEST_RUNTIME:
        raise ImportError(
            f"onnx_argmax.ort needs onnxruntime {needed} or later, but "
            f"{onnxruntime.__version__} is installed; upgrade it: "
            f"pip install --upgrade 'onnxruntime>={needed}'"
        )
    return onnxruntime


def devices() -> list[Any]:
    """The devices that the provider runs on, as ``onnxruntime.OrtEpDevice``.

    They are what ``SessionOptions.add_provider_for_devices`` takes; empty until
    :func:`register` is called.

    Raises
    ------
    ImportError
        When onnxruntime is missing or older than 1.24.
    """
    return [device for device in runtime().get_ep_devices() if device.ep_name == PROVIDER]


def register(
    name: str = _REGISTRATION, *, path: str | bytes | os.PathLike[Any] | None = None
) -> None:
    """Register the library with onnxruntime, for all sessions of this process.

    :func:`session_options` and :class:`InferenceSession` do so by themselves. Registering the
    same library again under the same name does nothing.

    Parameters
    ----------
    name : str, optional
        What onnxruntime calls the registration.
    path : str, bytes or path, optional
        Another build of the library; by default the one of :func:`get_library_path`.

    Raises
    ------
    TypeError
        When the name is no string, or the path is none.
    ValueError
        When another library is registered under the name.
    FileNotFoundError
        When there is no such file.
    ImportError
        When onnxruntime is missing or older than 1.24.
    Exception
        Of onnxruntime's own kinds, when the file is no library with execution providers.
    """
    onnxruntime = runtime()
    _check_name(name)
    # onnxruntime looks for a relative path in its own folder.
    wanted = os.path.realpath(get_library_path() if path is None else _decoded(path))
    known = _registered.get(name)
    if known == wanted:
        return
    if known is not None:
        raise ValueError(
            f"name: {name!r} is registered for the library {known}, so it cannot be for {wanted}; "
            "unregister it first, or take another name"
        )
    if not os.path.isfile(wanted):
        raise FileNotFoundError(f"path: there is no file {wanted}")
    try:
        onnxruntime.register_execution_provider_library(name, wanted)
    except Exception as error:  # onnxruntime's exceptions have no common class of their own
        if "already registered" not in str(error):
            raise
        if not _is_offered(wanted):
            raise ValueError(
                f"name: {name!r} is registered with onnxruntime for another library than "
                f"{wanted}; take another name"
            ) from error
    _registered[name] = wanted


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(
            "name: the name of a registration, a string, is needed, got "
            f"{type(name).__name__} {name!r}"
        )


def _decoded(path: Any) -> str:
    try:
        return os.fsdecode(path)
    except TypeError as error:
        raise TypeError(
            f"path: the path of a library is needed, got {type(path).__name__} {path!r}; a name "
            "is given as name="
        ) from error


def _is_offered(path: str) -> bool:
    """Whether onnxruntime has the library already, registered past this module."""
    # 1.24 does not say which library a device is of.
    return any(
        os.path.realpath(device.ep_metadata.get("library_path", path)) == path
        for device in devices()
    )


def unregister(name: str = _REGISTRATION) -> None:
    """Undo :func:`register`. Sessions that have the provider keep it until they are gone.

    Raises
    ------
    TypeError
        When the name is no string.
    ValueError
        When nothing is registered under the name.
    ImportError
        When onnxruntime is missing or older than 1.24.
    """
    onnxruntime = runtime()
    _check_name(name)
    try:
        onnxruntime.unregister_execution_provider_library(name)
    except Exception as error:  # as in register()
        if "was not registered" not in str(error):
            raise
        known = ", ".join(map(repr, _registered)) or "nothing"
        raise ValueError(f"name: {name!r} is not registered; registered is {known}") from error
    finally:
        _registered.pop(name, None)
