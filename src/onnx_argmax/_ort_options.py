# SPDX-License-Identifier: Apache-2.0
"""Session options with the execution provider in them."""

from __future__ import annotations

from typing import Any, Final

from onnx_argmax._ort_library import devices, register, runtime

__all__ = [
    "EXTERNAL_DATA_FOLDER",
    "RECORD_ASSIGNMENT",
    "has_provider",
    "record_assignment",
    "session_options",
]

RECORD_ASSIGNMENT: Final = "session.record_ep_graph_assignment_info"
"""ONNX Runtime's own entry: whether a session can be asked which provider has which node."""
EXTERNAL_DATA_FOLDER: Final = "session.model_external_initializers_file_folder_path"
"""Another one: where the external data of a model lies that is given as bytes."""
_MARK: Final = "onnx_argmax.provider"
"""An entry of ours, since options cannot be asked which providers they have."""
_OPTIONS: Final = ("threads", "level", "log")
"""The provider's, which names them itself where it refuses another."""


def session_options(base: Any = None, **options: object) -> Any:
    """Options of a session in which the provider comes before the CPU one.

    The library is registered first, where it is not yet.

    Parameters
    ----------
    base : onnxruntime.SessionOptions, optional
        Options to add the provider to. They are changed and come back: nothing that they say is
        lost, other providers included, which stay in front. New ones by default.
    **options
        Of the provider: ``threads`` (0, the default, for ONNX Runtime's own threads, as many as
        the session has; n for at most n threads of the provider's own), ``level`` (name of an
        instruction-set level, by default the machine's best) and ``log`` (``"verbose"``,
        ``"info"`` or ``"warning"``: at which severity it tells ONNX Runtime's logger what it
        takes). None stands for the default.

    Returns
    -------
    onnxruntime.SessionOptions
        Options for :class:`InferenceSession`, or for onnxruntime's own.

    Raises
    ------
    TypeError
        When ``base`` is no SessionOptions.
    ValueError
        When ``base`` has the provider already, or there is a NUL in an option.
    RuntimeError
        When onnxruntime has no device for it.
    ImportError
        When onnxruntime is missing or older than 1.24.

    Notes
    -----
    An option that is unknown or has a wrong value is refused when a session is made.
    """
    onnxruntime = runtime()
    changed = onnxruntime.SessionOptions() if base is None else base
    if not isinstance(changed, onnxruntime.SessionOptions):
        raise TypeError(
            f"base: an onnxruntime.SessionOptions is needed, got {type(base).__name__}"
        )
    if has_provider(changed):
        raise ValueError("base: it has the provider already; take it as it is, or new options")
    if not devices():
        register()
    given = {
        name: str(value)
        for name, value in options.items()
        if value is not None or name not in _OPTIONS
    }
    _refuse_nul(given)
    # Registered under several names, it is offered several times, and one is enough.
    device = devices()[:1]
    if not device:
        raise RuntimeError("onnxruntime found no CPU, which the provider could run on")
    changed.add_provider_for_devices(device, given)
    record_assignment(changed)
    changed.add_session_config_entry(_MARK, "1")
    return changed


def has_provider(options: Any) -> bool:
    """Whether :func:`session_options` has been there."""
    return _is_set(options, _MARK)


def record_assignment(options: Any) -> None:
    """Have the session tell which provider has which node, whatever the options said of it."""
    if not _is_set(options, RECORD_ASSIGNMENT):  # set anew, it would be warned of
        options.add_session_config_entry(RECORD_ASSIGNMENT, "1")


def _refuse_nul(options: dict[str, str]) -> None:
    for name, value in options.items():
        if "\0" in name + value:
            raise ValueError(
                f"option {name!r}: got {value!r}, which onnxruntime would cut off at the NUL; "
                "options are without one"
            )


def _is_set(options: Any, key: str) -> bool:
    try:
        return options.get_session_config_entry(key) == "1"
    except RuntimeError:  # there is no such entry
        return False
