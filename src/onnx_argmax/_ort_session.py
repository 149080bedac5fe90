# SPDX-License-Identifier: Apache-2.0
"""Sessions of ONNX Runtime that the execution provider is surely part of."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn, cast

import numpy as np

from onnx_argmax._ort_library import PROVIDER, runtime
from onnx_argmax._ort_options import has_provider, record_assignment, session_options
from onnx_argmax.operator import DOMAIN, NAME

__all__ = ["FALLBACK_PROVIDER", "InferenceSession", "assigned_argmax", "source_of"]

FALLBACK_PROVIDER: Final = "CPUExecutionProvider"
"""The provider that has every node which no other one takes."""

_UNREADABLE_NAME: Final = "(a name that is not UTF-8)"
_OTHERS_ARGUMENTS: Final = ("providers", "provider_options", "enable_fallback")


class InferenceSession(runtime().InferenceSession):
    """A session of onnxruntime in which this package's provider runs the ArgMax nodes.

    Everything else of it is onnxruntime's. It never falls back to another provider silently: it
    is not made where the provider is missing, stands behind the CPU one, or did not get an ArgMax
    that the CPU provider got instead.

    Parameters
    ----------
    model : str, path, bytes or onnx.ModelProto
        The model, or its file.
    sess_options : onnxruntime.SessionOptions, optional
        Options of the session, to which the provider is added in place, as by
        :func:`session_options`, unless it was already.
    **options
        Of the provider, as for :func:`session_options`.

    Raises
    ------
    RuntimeError
        When the provider was not taken.
    TypeError
        When ``model`` is none, and for ``providers`` and other arguments of onnxruntime's that
        would take the provider out again.
    ValueError
        When there are options beside a ``sess_options`` that has the provider already.
    ImportError
        When onnxruntime is missing or older than 1.24.
    Exception
        Of onnxruntime's own kinds: for a model that it refuses, an unknown option of the
        provider's or a wrong value of one.

    Notes
    -----
    A model in which no ArgMax is left once ONNX Runtime has optimised it is no error:
    :func:`claimed_nodes` tells what became of each. Providers that ``sess_options`` had before
    stay in front, so an ArgMax that one of them takes is theirs.

    onnxruntime takes no notice of the byte order of a NumPy array, nor of the mask of a masked
    one: :meth:`run` and :meth:`run_async` give it the former in native order, and refuse the
    latter. Values of onnxruntime's own (OrtValue, bindings) are not looked at.
    """

    def __init__(self, model: object, sess_options: Any = None, **options: object) -> None:
        for name in _OTHERS_ARGUMENTS:
            if name in options:
                raise TypeError(
                    f"{name}: a session of this class has the providers of sess_options and this "
                    "package's; add others to sess_options, which stay in front of it"
                )
        if sess_options is None or not has_provider(sess_options):
            sess_options = session_options(sess_options, **options)
        elif options:
            raise ValueError(
                f"{', '.join(options)}: sess_options has the provider with its options already; "
                "give them to session_options"
            )
        else:
            record_assignment(sess_options)
        # Its fallback would make the session anew, without the provider.
        super().__init__(source_of(model), sess_options, enable_fallback=0)
        _check_taken(self)

    def run(
        self, output_names: Any, input_feed: Mapping[str, object], run_options: Any = None
    ) -> Any:
        """As onnxruntime's, with arrays of any byte order.

        Raises
        ------
        TypeError
            For a masked array.
        """
        return super().run(output_names, _native_feed(input_feed), run_options)

    def run_async(
        self,
        output_names: Any,
        input_feed: Mapping[str, object],
        callback: Callable[..., object],
        user_data: Any,
        run_options: Any = None,
    ) -> Any:
        """As onnxruntime's, with arrays of any byte order.

        Raises
        ------
        TypeError
            For a masked array.
        """
        feed = _native_feed(input_feed)
        return super().run_async(output_names, feed, callback, user_data, run_options)

    def enable_fallback(self) -> NoReturn:
        """Refused: onnxruntime's fallback would make the session anew without the provider.

        Raises
        ------
        RuntimeError
            Always.
        """
        raise RuntimeError(
            f"enable_fallback: it would take {PROVIDER} out of the session; use "
            "onnxruntime.InferenceSession for a session that may do so"
        )

    def set_providers(self, providers: Any = None, provider_options: Any = None) -> NoReturn:
        """Refused: the session would be made anew without the provider.

        Raises
        ------
        RuntimeError
            Always.
        """
        raise RuntimeError(
            f"set_providers: it would take {PROVIDER} out of the session; make a new session "
            "with the other providers in its sess_options"
        )


def _native_feed(feed: Mapping[str, object]) -> dict[str, object]:
    return {name: _native(name, value) for name, value in feed.items()}


def _native(name: str, value: object) -> object:
    """The value with its arrays in native byte order: itself, or those that it is a list of."""
    if isinstance(value, np.ndarray):
        return _native_array(name, cast("np.ndarray[Any, Any]", value))
    if isinstance(value, list):
        return [
            _native_array(name, cast("np.ndarray[Any, Any]", member))
            if isinstance(member, np.ndarray)
            else member
            for member in cast("list[object]", value)
        ]
    return value


def _native_array(name: str, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(
            f"input {name!r}: a masked array is not taken, its mask would be ignored; pass "
            "array.filled(...)"
        )
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def source_of(model: object) -> str | bytes:
    """What onnxruntime takes: the path of a model, or its bytes.

    Raises
    ------
    TypeError
        When ``model`` is neither, and no onnx.ModelProto.
    """
    if isinstance(model, bytes):
        return model
    if isinstance(model, (str, os.PathLike)):
        return os.fsdecode(model)  # pyright: ignore[reportUnknownArgumentType]
    serialize = getattr(model, "SerializeToString", None)
    # Another message of protobuf's can be serialized too; onnx need not be there to know it.
    message = getattr(getattr(model, "DESCRIPTOR", None), "name", "ModelProto")
    if serialize is None or message != "ModelProto":
        raise TypeError(
            "model: a path, the bytes of a model or an onnx.ModelProto is needed, got "
            f"{type(model).__name__}"
        )
    return serialize()


def assigned_argmax(session: Any) -> list[tuple[str, str]]:
    """The ArgMax nodes that a session runs: the name of each and its provider.

    Subgraphs are included, and functions, whose nodes have names of the runtime's making. A name
    that is not UTF-8, which onnxruntime cannot hand over, is replaced by words that say so.
    """
    return [
        (_name_of(node), part.ep_name)
        for part in session.get_provider_graph_assignment_info()
        for node in part.get_nodes()
        if node.op_type == NAME and node.domain == DOMAIN
    ]


def _name_of(node: Any) -> str:
    try:
        return node.name
    except UnicodeDecodeError:
        return _UNREADABLE_NAME


def _check_taken(session: Any) -> None:
    providers = list(session.get_providers())
    in_order = ", ".join(providers)
    if PROVIDER not in providers:
        raise RuntimeError(f"{PROVIDER} was not taken into the session, which has {in_order}")
    if providers.index(FALLBACK_PROVIDER) < providers.index(PROVIDER):
        raise RuntimeError(
            f"{PROVIDER} stands behind {FALLBACK_PROVIDER}, which would take its nodes "
            f"(the session has {in_order}); do not add {FALLBACK_PROVIDER} to sess_options, it "
            "comes last by itself"
        )
    lost = [name for name, owner in assigned_argmax(session) if owner == FALLBACK_PROVIDER]
    if lost:
        raise RuntimeError(
            f"{PROVIDER} did not get {', '.join(map(repr, lost))}, which {FALLBACK_PROVIDER} "
            "runs; claimed_nodes says why"
        )
