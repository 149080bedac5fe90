# SPDX-License-Identifier: Apache-2.0
"""The command's arguments and options, and what becomes of an exception."""

from __future__ import annotations

import os
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from onnx_argmax import __version__, argmax
from onnx_argmax._memory_size import bytes_of
from onnx_argmax.cli.errors import INTERRUPTED, CommandError, message_of, report
from onnx_argmax.cli.evaluation import RUNTIMES
from onnx_argmax.cli.standard_output import show_text

__all__ = ["app", "call"]

_NAME = "onnx-argmax"


@dataclass(slots=True)
class _Settings:
    arguments: list[str]
    debug: bool = False
    ends_process: bool = False


app = typer.Typer(
    name=_NAME,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def call(arguments: list[str], *, ends_process: bool = False) -> int:
    """Run the command and give its exit status; whatever goes wrong is said in one line.

    ``ends_process`` says that the process ends with that status.
    """
    settings = _Settings(arguments, ends_process=ends_process)
    try:
        status = app(arguments, prog_name=_NAME, standalone_mode=False, obj=settings)
    except typer.Abort as error:  # what older releases of Typer make of Ctrl-C
        raise KeyboardInterrupt from error
    except Exception as error:
        return _failed(error, debug=settings.debug)
    if status == INTERRUPTED:  # what newer ones make of it
        raise KeyboardInterrupt
    return status if isinstance(status, int) else 0


def _failed(error: Exception, *, debug: bool) -> int:
    # A wrong use is of another library's class in older releases of Typer; these are common.
    format_message = getattr(error, "format_message", None)
    if format_message is not None and getattr(error, "exit_code", None) == 2:
        command = getattr(getattr(error, "ctx", None), "command_path", _NAME)
        report(f"{format_message().rstrip('.')}; see {command} --help", command)
        return 2
    if isinstance(error, BrokenPipeError):
        # Whoever read the output has seen enough; Python would say so once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    if debug:
        traceback.print_exception(error)
    else:
        report(message_of(error))
    return error.status if isinstance(error, CommandError) else 1


def _set_debug(context: typer.Context, value: bool) -> None:
    if value:
        context.obj.debug = True


def _show_version(value: bool) -> None:
    if value:
        show_text(f"{_NAME} {__version__}")
        raise typer.Exit


def _show_help(context: typer.Context, value: bool) -> None:
    if value:
        show_text(context.get_help())
        raise typer.Exit


_Debug = Annotated[
    bool,
    typer.Option(
        "--debug",
        callback=_set_debug,
        help="Show the traceback of an error instead of one line.",
    ),
]


# Typer's own option does not say where the help could not be shown.
_Help = Annotated[
    bool,
    typer.Option("--help", callback=_show_help, is_eager=True, help="Show this message and exit."),
]


# Texts for help stand in the decorators, as Python leaves out docstrings under -OO.
@app.callback(
    help="ONNX ArgMax: run or inspect a model, or reduce an array in a file.",
    epilog="Exit status: 0 success, 1 an error, 2 wrong use, 130 or 143 after a signal.",
    add_help_option=False,
    invoke_without_command=True,
)
def _root(
    context: typer.Context,
    debug: _Debug = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    show_help: _Help = False,
) -> None:
    if context.invoked_subcommand is None:
        names = [
            command.callback.__name__ for command in app.registered_commands if command.callback
        ]
        context.fail(f"Missing command; there are {', '.join(names)}")


@app.command(
    help="""Run an ONNX model on inputs from files.

    Shows the outputs and what ran the ArgMax nodes: this package, as a provider of ONNX Runtime
    where onnxruntime is installed, else on ONNX's reference evaluator. ONNX Runtime itself
    computes a node of constant input, as it optimises the model. An output that differs from a
    folder's output_0.pb makes the exit status 1; --compare never does.
    """,
    add_help_option=False,
)
def run(
    # What is wrong with a path is said where it is used, for all of them in the same way.
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", readable=False, help="The ONNX model's file.")
    ],
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="INPUT...",
            help="FILE.npz whose keys are input names, NAME=FILE.npy, or a folder with "
            "input_0.pb and so on, whose output_0.pb and so on are compared with.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            readable=False,
            help="Write the outputs to a .npz, or a single one to a .npy.",
        ),
    ] = None,
    compare: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OUTPUT[=KEY]",
            help="Count how many elements of an output agree with the array KEY of the INPUTs "
            "(labels, for example), which is then no input. May be given several times.",
        ),
    ] = None,
    runtime: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(RUNTIMES),
            help="What runs the model; by default onnxruntime where it is installed.",
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Most threads that ONNX Runtime uses, or an ArgMax on the reference evaluator.",
        ),
    ] = None,
    profile: Annotated[
        bool,
        typer.Option("--profile", help="Show what part of the model's time each ArgMax took."),
    ] = False,
    debug: _Debug = False,
    show_help: _Help = False,
) -> None:
    _check_suffix("--output", output, ".npz", ".npy")
    _check_runtime(runtime)
    from onnx_argmax.cli.run import RunJob, run_model

    run_model(
        RunJob(
            model=model,
            inputs=inputs or [],
            output=output,
            compare=compare or [],
            runtime=runtime,
            threads=threads,
            profile=profile,
        )
    )


@app.command(
    help="""Show every ArgMax of an ONNX model, and who could run it.

    Those in subgraphs and functions are shown too. The model is not run and need not be valid,
    and neither its external data nor onnxruntime is needed.
    """,
    add_help_option=False,
)
def inspect(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", readable=False, help="The ONNX model's file.")
    ],
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    debug: _Debug = False,
    show_help: _Help = False,
) -> None:
    from onnx_argmax.cli.inspect import inspect_model

    inspect_model(model, as_json=json)


@app.command(
    help="""ArgMax of an array in a file or a store, of any size.

    It is read block by block, in as much memory as --memory says; an array of a .npz alone is
    read as a whole. The output takes its name when it is whole.
    """,
    add_help_option=False,
)
def array(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="FILE.npy, the folder of a Zarr array, FILE.h5:DATASET, FILE.npz with one array, "
            "or FILE.npz:NAME.",
        ),
    ],
    axis: Annotated[
        str, typer.Option(metavar="N", help="Axis to reduce; 'none' for the flattened array.")
    ],
    keepdims: Annotated[
        bool, typer.Option(help="Keep the reduced axis with length 1, or drop it.")
    ] = True,
    select_last_index: Annotated[
        bool, typer.Option("--select-last-index", help="Of equal maxima take the last index.")
    ] = False,
    bfloat16: Annotated[
        bool,
        typer.Option(
            "--bfloat16", help="Take two-byte items (|V2, as NumPy saves bfloat16) as bfloat16."
        ),
    ] = False,
    dtype: Annotated[
        str, typer.Option(metavar="TYPE", help="Integer type of the result.")
    ] = "int64",
    threads: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Most threads to use.")
    ] = None,
    memory: Annotated[
        str,
        typer.Option(metavar="SIZE", help="Most memory of the process, such as '512 MiB' or 2GB."),
    ] = "1 GiB",
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            readable=False,
            help="Write the result to a .npy, or to a Zarr array (.zarr), instead of printing it; "
            "it takes the place of what is there once it is whole.",
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Keep what is done beside the output (PATH.part, PATH.resume) when the command "
            "is broken off, and go on from there if it is there.",
        ),
    ] = False,
    debug: _Debug = False,
    show_help: _Help = False,
) -> None:
    _check_suffix("--output", output, ".npy", ".zarr")
    _check_dtype(dtype)
    if resume and output is None:
        raise typer.BadParameter(
            "what is done is kept beside the output, so --output is needed too",
            param_hint="'--resume'",
        )
    most_memory = _memory(memory)
    from onnx_argmax.cli.array import ArrayJob, argmax_of_file

    argmax_of_file(
        ArrayJob(
            source=source,
            axis=_axis(axis),
            keepdims=keepdims,
            select_last_index=select_last_index,
            bfloat16=bfloat16,
            dtype=dtype,
            threads=threads,
            memory=most_memory,
            output=output,
            resume=resume,
            ends_process=context.obj.ends_process,
        )
    )


@app.command(
    help="""Measure against NumPy, PyTorch, ONNX Runtime... and against the memory.

    Without an option that says what, the cases are measured beside every peer that is
    installed. It runs from a clone of the repository; benchmarks/README.md tells how.
    """,
    add_help_option=False,
)
def bench(
    context: typer.Context,
    case: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB", help="Only the cases of that name, such as 'class-map/*/f16'."
        ),
    ] = None,
    threads: Annotated[
        list[int] | None,
        typer.Option(metavar="N", min=1, help="By default 1, and all processors."),
    ] = None,
    level: Annotated[
        str | None, typer.Option(metavar="NAME", help="Instruction-set level to use.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer cases; under a minute.")] = False,
    sweep: Annotated[
        bool, typer.Option("--sweep", help="Row lengths, channels and widths one by one.")
    ] = False,
    growth: Annotated[bool, typer.Option("--growth", help="10^3 to 10^9 elements.")] = False,
    data_kinds: Annotated[
        bool, typer.Option("--data-kinds", help="NaN, equal and sorted elements; last index.")
    ] = False,
    memory: Annotated[
        bool, typer.Option("--memory", help="Peak memory beyond input and result.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--everything", help="The cases and all of these.")
    ] = False,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", readable=False, help="Write the figures.")
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            readable=False,
            help="Draw the figures; what is no case goes to FILE-sweep and so on.",
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            readable=False,
            help="The clone of the repository; by default the current folder or one above.",
        ),
    ] = None,
    debug: _Debug = False,
    show_help: _Help = False,
) -> None:
    from onnx_argmax.cli.bench import PARTS, BenchJob, run_benchmark

    _check_suffix("--json", json, ".json")
    _check_suffix("--picture", picture, ".png", ".svg", ".pdf")
    asked = (False, sweep, growth, data_kinds, memory)
    parts = [part for part, wanted in zip(PARTS, asked, strict=True) if wanted or everything]
    run_benchmark(
        BenchJob(
            patterns=case or [],
            threads=threads or [],
            level=level,
            quick=quick,
            parts=parts or PARTS[:1],
            json=json,
            picture=picture,
            folder=folder,
        ),
        context.obj.arguments,
    )


@app.command(help="Show what is installed and what of it runs here.", add_help_option=False)
def info(debug: _Debug = False, show_help: _Help = False) -> None:
    from onnx_argmax.cli.info import show_info

    show_info()


def _axis(text: str) -> int | None:
    if text.lower() == "none":
        return None
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is neither an integer nor 'none'", param_hint="'--axis'"
        ) from None


def _memory(text: str) -> int:
    try:
        return bytes_of("--memory", text)
    except ValueError as error:
        message = str(error).removeprefix("--memory: ")
        raise typer.BadParameter(message, param_hint="'--memory'") from error


def _check_dtype(name: str) -> None:
    try:
        argmax(np.zeros(1, np.uint8), dtype=name)
    except TypeError as error:
        message = str(error).removeprefix("dtype: ")
        raise typer.BadParameter(message, param_hint="'--dtype'") from error


def _check_runtime(runtime: str | None) -> None:
    if runtime is not None and runtime not in RUNTIMES:
        raise typer.BadParameter(
            f"{runtime!r} is no runtime; allowed: {', '.join(RUNTIMES)}",
            param_hint="'--runtime'",
        )


def _check_suffix(option: str, path: Path | None, *allowed: str) -> None:
    if path is not None and path.suffix.lower() not in allowed:
        raise typer.BadParameter(
            f"{path}: the suffix says how to write it; allowed: {' or '.join(allowed)}",
            param_hint=f"'{option}'",
        )
