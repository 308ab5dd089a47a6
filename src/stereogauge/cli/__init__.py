"""The command line. One module per command; only the module of the command that was called is imported.

A module holds a function `command`, or a Typer application `app` when it has sub-commands. Known mistakes end with one
sentence and exit code 2; anything else is a defect and keeps its traceback.
"""

from __future__ import annotations

import atexit
import errno
import functools
import gc
import importlib
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, Any

import typer

from stereogauge.errors import FileError, StereogaugeError
from stereogauge.registry import PLUGIN_FILES, PluginWarning, plugin_place
from stereogauge.version import VERSION

COMMANDS = {
    "demo": "Evaluate real matchers on the built-in Motorcycle pair.",
    "compare": "Compare one or more estimates with one ground truth.",
    "evaluate": "Evaluate result folders or matchers on a dataset into a store.",
    "answer": "Say which algorithm to take for an application.",
    "explain": "Explain why one algorithm is above another.",
    "gate": "Fail when an algorithm got worse than in a baseline store.",
    "table": "Print the scores of a store, in all or scene by scene.",
    "zero-shot": "Print algorithms on several datasets, with mean ranks.",
    "rank": "Rank the algorithms of a store by a model of your choice.",
    "analyze": "Analyse metrics: relations, histograms, significance.",
    "report": "Write an HTML report, LaTeX tables, CSV and figures.",
    "match": "Run a stereo matcher on a pair of images.",
    "confidence": "Evaluate confidence measures by sparsification.",
    "filter": "Keep the most confident disparities of a map.",
    "serve": "Serve the interactive benchmark site for a store.",
    "tune": "Search matcher parameters for an application profile.",
    "study": "Measure the response of metrics to controlled damage.",
    "robustness": "Measure how maps change when only lighting or time changes.",
    "regions": "Show the pixel sets of a scene as counts and pictures.",
    "metrics": "List the metrics, or show one in full.",
    "protocols": "List the shipped protocols, or show one in full.",
    "datasets": "List datasets: how to get them, how a folder must look.",
    "store": "Show what a store holds; export, import, merge, delete.",
    "validate": "Check a map, results folder or zip before evaluating it.",
    "identify": "Say which evaluator published numbers come from.",
    "pack": "Write an archive for submission to a public benchmark.",
    "convert": "Convert disparity maps between encodings.",
    "reproduce": "Reproduce the tables and figures of the papers, and compare.",
    "schema": "Print the JSON Schema of what a command prints.",
}
INTERRUPTED = 130
NOT_OURS = {
    errno.EACCES,
    errno.EEXIST,
    errno.EISDIR,
    errno.ENAMETOOLONG,
    errno.ENOENT,
    errno.ENOSPC,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
}
"""Errors of the file system that a wrong path causes."""


IMPORTED = 300_000
"""More objects than the imports of any command make."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    _spare_garbage_collection()
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        words = _with_plugins(words)
        called = _called(_completed() or words)
        code: Any = 0
        runs = _defaults(called, words)
        with _output_of(runs):
            for defaults in runs:
                code = application(called, defaults)(
                    words, standalone_mode=False, prog_name="stereogauge", default_map={called or "": defaults}
                )
                if code:
                    break
    except StereogaugeError as mistake:
        _fail(str(mistake))
    except OSError as trouble:
        if trouble.errno not in NOT_OURS or trouble.filename is None:
            raise
        if trouble.errno in (errno.EEXIST, errno.ENOTDIR):
            _fail(f"{trouble.filename}: this is a file, and a folder is needed; give another path.")
        _fail(f"{trouble.filename}: {trouble.strerror}; check the path, its permissions and the space that is left.")
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(INTERRUPTED)
    except Exception as problem:
        show: Callable[[], None] | None = getattr(problem, "show", None)
        if show is None:
            if place := plugin_place(problem):
                _fail(f"{place}: the plug-in failed ({type(problem).__name__}: {problem}).")
            raise
        show()
        sys.exit(getattr(problem, "exit_code", 2))
    sys.exit(code if isinstance(code, int) else 0)


def _spare_garbage_collection() -> None:
    """Look for garbage neither while modules are imported, which leave none, nor when the process ends: 0.2 s."""
    usual = gc.get_threshold()

    def as_usual(phase: str, found: Mapping[str, int]) -> None:
        gc.set_threshold(*usual)
        gc.callbacks.remove(as_usual)

    if usual[0] < IMPORTED:
        gc.set_threshold(IMPORTED)
        gc.callbacks.append(as_usual)
        atexit.register(gc.freeze)


def _fail(sentence: str) -> None:
    sys.stderr.write(f"stereogauge: {' '.join(sentence.split())}\n")
    sys.exit(2)


def _with_plugins(words: Sequence[str]) -> list[str]:
    """The words without `--plugin FILE`, which may be anywhere; the files are kept for this and worker processes."""
    rest: list[str] = []
    files: list[str] = []
    remaining = iter(words)
    for word in remaining:
        option, equals, value = word.partition("=")
        if option != "--plugin":
            rest.append(word)
            continue
        path = value if equals else next(remaining, "")
        if not os.path.isfile(path):
            raise FileError(f"--plugin {path}: there is no such file; give a Python file that declares your additions.")
        files.append(os.path.abspath(path))
    if files:
        before = os.environ.get(PLUGIN_FILES)
        os.environ[PLUGIN_FILES] = os.pathsep.join([*files, *([before] if before else [])])
    warnings.showwarning = _show_warning
    return rest


_usual_warning = warnings.showwarning


def _show_warning(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
    """A plug-in that is left out is one line; any other warning is shown as usual."""
    if issubclass(category, PluginWarning):
        sys.stderr.write(f"note: {message}\n")
    else:
        _usual_warning(message, category, *place, **more)


def _called(words: Sequence[str]) -> str | None:
    """The command among the words, where there is one."""
    first = next((word for word in words if not word.startswith("-")), None)
    return first if first in COMMANDS else None


def _completed() -> list[str]:
    """The words that a shell wants to complete; none in an ordinary call."""
    return os.environ.get("COMP_WORDS", "").split()[1:] if "_STEREOGAUGE_COMPLETE" in os.environ else []


def _defaults(called: str | None, words: Sequence[str]) -> list[dict[str, Any]]:
    """What the project file says of the called command, once for each time that it is to run."""
    if called is None:
        return [{}]
    from stereogauge.cli.project import read_project

    project = read_project(tuple(COMMANDS))
    if project is None:
        return [{}]
    return project.defaults(called, named=called == "evaluate" and called in words and _names_dataset(words))


def _names_dataset(words: Sequence[str]) -> bool:
    """Whether the words of `evaluate` name a dataset, so that those of the project are not meant."""
    command: Any = typer.main.get_command(application("evaluate", {}))
    own = list(words[words.index("evaluate") + 1 :])
    parsed = command.commands["evaluate"].make_context("evaluate", own, resilient_parsing=True)
    return parsed.params["dataset"] is not None


def _output_of(runs: Sequence[Mapping[str, Any]]) -> AbstractContextManager[None]:
    """What several runs of a command print is one document."""
    if len(runs) == 1:
        return nullcontext()
    from stereogauge.cli.output import one_document

    return one_document()


def application(called: str | None, defaults: Mapping[str, Any]) -> typer.Typer:
    """The application with the called command; without one, or to complete words, all commands by their summaries."""
    app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.callback()(_options)
    for name, summary in COMMANDS.items() if called is None or _completed() else [(called, COMMANDS[called])]:
        if name != called:
            app.command(name, help=summary)(_unloaded)
            continue
        module: Any = importlib.import_module(f"stereogauge.cli.{name.replace('-', '_')}")
        if hasattr(module, "app"):
            for part in (*module.app.registered_commands, module.app.registered_callback):
                if part is not None:
                    part.callback = _stoppable(part.callback)
            app.add_typer(module.app, name=name, help=summary)
        else:
            from stereogauge.cli.options import with_groups
            from stereogauge.cli.project import announced

            app.command(name, cls=_grouped_help())(_stoppable(announced(with_groups(module.command), defaults)))
    return app


def _grouped_help() -> type[Any]:
    """A command whose help lists options under the headings of their groups."""
    from typer.core import TyperCommand

    class Grouped(TyperCommand):
        def format_options(self, ctx: Any, formatter: Any) -> None:
            sections: dict[str, list[tuple[str, str]]] = {}
            for param in self.get_params(ctx):
                record = param.get_help_record(ctx)
                heading = "Arguments" if param.param_type_name == "argument" else "Options"
                if record is not None:
                    sections.setdefault(getattr(param, "rich_help_panel", None) or heading, []).append(record)
            for heading in sorted(sections, key=_place):
                with formatter.section(heading):
                    formatter.write_dl(sections[heading])

    return Grouped


def _place(heading: str) -> int:
    from stereogauge.cli.options import FILES, MEASURES, OUTPUT, SCENES

    order = ("Arguments", "Which scores", SCENES, FILES, MEASURES, "Options", OUTPUT)
    return order.index(heading) if heading in order else len(order)


def _stoppable(command: Callable[..., None]) -> Callable[..., None]:
    """The command, which ends silently when its output is no longer read, and with a message after Ctrl-C."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
            sys.stdout.flush()
        except BrokenPipeError:
            # Python would complain once more while closing it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except KeyboardInterrupt:
            sys.stderr.write("stereogauge: interrupted; what was written is kept; the same command starts again\n")
            raise typer.Exit(INTERRUPTED) from None

    return run


def _unloaded() -> None:
    """Do nothing: a command that was not called."""


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"stereogauge {VERSION}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    plugin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="A Python file with metrics, regions, matchers, … of yours, for any command, anywhere.",
        ),
    ] = None,
) -> None:
    """Tell which stereo matching algorithm, with which parameters, is right for an application, and why."""
