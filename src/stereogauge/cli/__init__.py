"""The command line. One module per command; only the module of the command that was called is imported.

A module holds a function `command`, or a Typer application `app` when it has sub-commands. Known mistakes end with one
sentence and exit code 2; anything else is a defect and keeps its traceback.
"""

from __future__ import annotations

import atexit
import errno
import gc
import importlib
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

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
NOT_OURS = {errno.EACCES, errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG, errno.ENOENT, errno.ENOSPC, errno.ENOTDIR}
NOT_OURS |= {errno.EPERM, errno.EROFS}
"""Errors of the file system that a wrong path causes."""
IMPORTED = 300_000
"""More objects than the imports of any command make."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    _spare_garbage_collection()
    code = 0
    try:
        words = _with_plugins(sys.argv[1:] if arguments is None else arguments)
        called = next((word for word in _completed() or words if not word.startswith("-")), None)
        code = _run(called if called in COMMANDS else None, words)
        sys.stdout.flush()
    except StereogaugeError as mistake:
        _fail(str(mistake))
    except BrokenPipeError:
        # The output is no longer read; Python would complain once more while closing it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as trouble:
        if trouble.errno not in NOT_OURS or trouble.filename is None:
            raise
        if trouble.errno in (errno.EEXIST, errno.ENOTDIR):
            _fail(f"{trouble.filename}: this is a file, and a folder is needed; give another path.")
        _fail(f"{trouble.filename}: {trouble.strerror}; check the path, its permissions and the space that is left.")
    except (KeyboardInterrupt, typer.Abort):
        sys.stderr.write("interrupted; what is finished is kept, and the same command continues from there\n")
        code = INTERRUPTED
    except Exception as problem:
        show: Callable[[], None] | None = getattr(problem, "show", None)
        if show is None:
            if place := plugin_place(problem):
                _fail(f"{place}: the plug-in failed ({type(problem).__name__}: {problem}).")
            raise
        show()
        code = getattr(problem, "exit_code", 2)
    sys.exit(code)


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
        os.environ[PLUGIN_FILES] = os.pathsep.join([*files, *filter(None, [os.environ.get(PLUGIN_FILES)])])
    warnings.showwarning = _show_warning
    return rest


_usual_warning = warnings.showwarning


def _show_warning(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
    """A plug-in that is left out is one line; any other warning is shown as usual."""
    if issubclass(category, PluginWarning):
        sys.stderr.write(f"note: {message}\n")
    else:
        _usual_warning(message, category, *place, **more)


def _completed() -> list[str]:
    """The words that a shell wants to complete; none in an ordinary call."""
    return os.environ.get("COMP_WORDS", "").split()[1:] if "_STEREOGAUGE_COMPLETE" in os.environ else []


def _run(called: str | None, words: list[str]) -> int:
    """Run the called command as often as the project file says; what several runs print is one document."""
    runs: list[dict[str, Any]] = [{}]
    together: Any = nullcontext()
    if called is not None:
        from stereogauge.cli.project import read_project

        project = read_project(tuple(COMMANDS))
        if project is not None:
            runs = project.defaults(called, named=called == "evaluate" and called in words and _names_dataset(words))
    if len(runs) > 1:
        from stereogauge.cli.output import one_document

        together = one_document()
    with together:
        for defaults in runs:
            app, shown = application(called, defaults), {called or "": defaults}
            if _completed():
                app(words, prog_name="stereogauge", default_map=shown)
            group = typer.main.get_command(app)
            try:
                with group.make_context("stereogauge", list(words), default_map=shown) as context:
                    group.invoke(context)
            except typer.Exit as ended:
                if ended.exit_code:
                    return ended.exit_code
    return 0


def _names_dataset(words: Sequence[str]) -> bool:
    """Whether the words of `evaluate` name a dataset, so that those of the project are not meant."""
    command: Any = typer.main.get_command(application("evaluate", {}))
    own = list(words[words.index("evaluate") + 1 :])
    parsed = command.commands["evaluate"].make_context("evaluate", own, resilient_parsing=True)
    return parsed.params["dataset"] is not None


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
            app.add_typer(module.app, name=name, help=summary)
        else:
            from stereogauge.cli.options import with_groups
            from stereogauge.cli.project import announced

            app.command(name, cls=GroupedHelp)(announced(with_groups(module.command), defaults))
    return app


class GroupedHelp(TyperCommand):
    """A command whose help lists options under the headings of their groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the sections in the order of `HEADINGS`."""
        from stereogauge.cli.options import HEADINGS

        sections: dict[str, list[tuple[str, str]]] = {heading: [] for heading in HEADINGS}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            heading = "Arguments" if param.param_type_name == "argument" else "Options"
            if record is not None:
                sections[getattr(param, "rich_help_panel", None) or heading].append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


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
