# SPDX-License-Identifier: Apache-2.0
"""Models from files, with an error of its own for each fault of a file."""

from __future__ import annotations

import os
import reprlib
from pathlib import Path
from typing import Final

import onnx
import onnx.checker
import onnx.external_data_helper
import onnx.serialization

from onnx_argmax._files import file_size, read_file
from onnx_argmax._model_checks import (
    MOST_MESSAGE_BYTES,
    check_model,
    external_tensors,
    one_line,
)
from onnx_argmax._model_names import check_names

__all__ = ["load_model", "read_model"]

_MODEL_FIELDS: Final = onnx.ModelProto.DESCRIPTOR.fields_by_number
_VARINT: Final = 0
_LENGTH_DELIMITED: Final = 2
_MOST_DIGITS: Final = 18
"""Of a number of bytes: as many as a signed 64-bit integer surely holds."""


def load_model(
    path: str | os.PathLike[str], *, more_than_a_message: bool = True
) -> onnx.ModelProto:
    """Read a model with its external data, and check it.

    The format follows from the name's end, as in ``onnx.load``: protobuf, unless it is one of
    onnx's text formats.

    Parameters
    ----------
    path : str or path
        The model's file; external data is looked for beside it.
    more_than_a_message : bool
        Whether external data is read that makes the model larger than the 2 GiB that can be
        serialised again; if not, all of it stays in its files then.

    Returns
    -------
    onnx.ModelProto
        The checked model, all its tensors in memory unless they stay in their files.

    Raises
    ------
    FileNotFoundError
        When the file, or a file of external data, is missing.
    OSError
        When a file cannot be read: a folder, a pipe, a device, no permission.
    ValueError
        When the file is empty, not an ONNX model, truncated, above what one file may hold, when
        its external data is too short or outside its folder, when a name in it is not UTF-8, and
        when the model is invalid.
    TypeError
        When an ArgMax takes an element type that its version lacks.
    MemoryError
        When the model is larger than this machine's memory.
    """
    path = Path(path)
    model = read_model(path)
    external = list(external_tensors(model))
    if not external:
        return check_model(model, name=str(path))
    total = model.ByteSize() + _external_bytes(path, external)
    if more_than_a_message or total <= MOST_MESSAGE_BYTES:
        _check_memory(path, total)
    if total <= MOST_MESSAGE_BYTES:
        _load_external(path, external)
        return check_model(model, name=str(path))
    # Too large to be serialised for the checks once everything is in it.
    model = check_model(model, name=str(path), path=path)
    if more_than_a_message:
        _load_external(path, list(external_tensors(model)))
    return model


def read_model(path: Path) -> onnx.ModelProto:
    """Read a model's file as it is: without external data, which may be missing, and unchecked.

    Raises
    ------
    OSError, ValueError, MemoryError
        As for :func:`load_model`, where they are about the file itself and the names in it.
    """
    model = _parse(path, _read(path))
    check_names(model, str(path))
    return model


def _read(path: Path) -> bytes:
    size = file_size(path)
    if size > MOST_MESSAGE_BYTES:
        raise ValueError(
            f"{path}: {size} bytes are more than the 2 GiB that one ONNX file can hold; save it "
            "with onnx.save(..., save_as_external_data=True), unless it is no model at all"
        )
    _check_memory(path, size)
    return read_file(path)


def _parse(path: Path, content: bytes) -> onnx.ModelProto:
    if not content:
        raise ValueError(f"{path}: not an ONNX model: the file is empty")
    serializer = onnx.serialization.registry.get_format_from_file_extension(path.suffix)
    try:
        model = onnx.load_model_from_string(content, format=serializer or "protobuf")
    except MemoryError:
        raise MemoryError(f"{path}: there is not enough memory to parse the model") from None
    except Exception as error:  # each format's parser has an exception of its own
        raise ValueError(_fault(path, content, serializer, error)) from error
    if not model.ir_version or not model.HasField("graph"):
        raise ValueError(_fault(path, content, serializer, None))
    return model


def _fault(path: Path, content: bytes, serializer: str | None, error: Exception | None) -> str:
    reason = "it has no IR version or no graph" if error is None else one_line(error)
    if serializer not in (None, "protobuf"):
        return f"{path}: not an ONNX model in the format {serializer!r} ({reason})"
    end = _end_of_fields(content)
    if end is None:
        return f"{path}: not an ONNX model ({reason})"
    if end > len(content) or error is None:
        return f"{path}: the model is truncated: the file ends before it does ({reason})"
    return f"{path}: the model is damaged ({reason})"


def _end_of_fields(content: bytes) -> int | None:
    """Where the last top-level field ends by its own account; None at one that no model has."""
    position = 0
    while position < len(content):
        tag, position = _varint(content, position)
        if tag is None:
            return len(content) + 1
        field = _MODEL_FIELDS.get(tag >> 3)
        is_integer = field is not None and field.cpp_type == field.CPPTYPE_INT64
        if field is None or (tag & 7) != (_VARINT if is_integer else _LENGTH_DELIMITED):
            return None
        value, position = _varint(content, position)
        if value is None:
            return len(content) + 1
        if not is_integer:
            position += value
    return position


def _varint(content: bytes, position: int) -> tuple[int | None, int]:
    """Protobuf's variable-length integer and where it ends; None where the file ends first."""
    value = shift = 0
    while position < len(content):
        byte = content[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80 or shift == 63:  # the tenth byte, the last that there can be
            return value, position
        shift += 7
    return None, position


def _external_bytes(path: Path, tensors: list[onnx.TensorProto]) -> int:
    """Bytes of all external data; its files must be there, and long enough."""
    total = 0
    for tensor in tensors:
        entries = {entry.key: entry.value for entry in tensor.external_data}
        location = path.parent / entries.get("location", "")
        data = f"{path}: the external data of tensor {tensor.name!r}"
        try:
            size = file_size(location)
        except FileNotFoundError:
            raise FileNotFoundError(
                f"{data} is missing: there is no file {location}; it must lie where the model "
                "says, beside the model"
            ) from None
        except (OSError, ValueError) as error:
            raise type(error)(f"{data} cannot be read: {one_line(error)}") from error
        offset, length = entries.get("offset") or "0", entries.get("length")
        if not (_is_count(offset) and _is_count(length or "0")):
            raise ValueError(
                f"{data} is no number of bytes: offset {reprlib.repr(offset)}, length "
                f"{reprlib.repr(length)}; whole numbers of up to {_MOST_DIGITS} digits are needed"
            )
        needed = int(length) if length else max(size - int(offset), 0)
        if int(offset) + needed > size:
            raise ValueError(
                f"{data} is truncated: {location} has {size} bytes, but {int(offset) + needed} "
                "are needed"
            )
        total += needed
    return total


def _is_count(text: str) -> bool:
    return text.isdecimal() and len(text) <= _MOST_DIGITS


def _load_external(path: Path, tensors: list[onnx.TensorProto]) -> None:
    for tensor in tensors:
        try:
            onnx.external_data_helper.load_external_data_for_tensor(tensor, str(path.parent))
        except MemoryError:
            raise MemoryError(
                f"{path}: there is not enough memory for the data of tensor {tensor.name!r}"
            ) from None
        except (ValueError, onnx.checker.ValidationError) as error:
            raise ValueError(
                f"{path}: the external data of tensor {tensor.name!r} cannot be read: "
                f"{one_line(error)}"
            ) from error
        # Releases of onnx before this was part of loading leave the tensor's own account of it.
        tensor.data_location = onnx.TensorProto.DEFAULT
        del tensor.external_data[:]


def _check_memory(path: Path, needed: int) -> None:
    """Linux grants memory it does not have and ends the process later, so ask beforehand."""
    if not hasattr(os, "sysconf"):  # Windows refuses by itself
        return
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > memory:
        raise MemoryError(
            f"{path}: the model's {needed} bytes are more than this machine's memory of "
            f"{memory} bytes"
        )
