"""`stereogauge serve`: the interactive benchmark site for a store."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from stereogauge.cli.output import say, shortened
from stereogauge.errors import MissingDependency, StereogaugeError, unknown_name

MOST_NAMED = 20

if TYPE_CHECKING:
    from stereogauge.store import Store
    from stereogauge.web.hiding import Shown
    from stereogauge.web.site import Site
    from stereogauge.web.submissions.submissions import Submissions


def command(
    store: Annotated[str, typer.Argument(metavar="STORE", help="SQLite file or postgresql+psycopg://user@host/name.")],
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all of them.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=0, max=65535)] = 8000,
    host_name: Annotated[
        list[str] | None, typer.Option(help="A name under which the site is reached from outside; repeatable.")
    ] = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option(help="Address of a reverse proxy whose X-Forwarded-For is believed; repeatable."),
    ] = None,
    hidden: Annotated[
        list[str] | None,
        typer.Option(help="Scenes whose ground truth never leaves the server, e.g. 'kitti-2015/*'; repeatable."),
    ] = None,
    hidden_shows: Annotated[
        list[str] | None,
        typer.Option(help="What visitors see of hidden scenes beside means: scores (one by one), blocks; repeatable."),
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write the site as files for any web host into this folder, and stop.")
    ] = None,
    submissions: Annotated[
        bool, typer.Option("--submissions", help="Take submissions from holders of a token.")
    ] = False,
    data: Annotated[
        Path | None, typer.Option(help="Folder for submissions; default: beside the store, STORE-submissions.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="The dataset that submissions are for, where the store holds several.")
    ] = None,
    limit: Annotated[int, typer.Option(help="Submissions that one submitter may make in a period.")] = 10,
    period: Annotated[float, typer.Option(help="Length of that period in hours.")] = 24.0,
    largest: Annotated[int, typer.Option(help="Largest upload in MiB.")] = 512,
    time_limit: Annotated[float, typer.Option(help="Seconds in which a submission must be evaluated.")] = 3600.0,
    worker_user: Annotated[
        str | None,
        typer.Option(help="User who reads uploads where root starts the server; default: nobody. root: no other."),
    ] = None,
    issue_token: Annotated[
        str | None, typer.Option(metavar="NAME", help="Print a new token for a submitter, once, and stop.")
    ] = None,
    revoke_token: Annotated[
        str | None, typer.Option(metavar="NAME", help="Make a submitter's tokens worthless, and stop.")
    ] = None,
) -> None:
    """The interactive benchmark site for a store.

    Opens a site on which visitors choose scenes, regions, metrics, algorithms, model and weights, and see the answer
    change at once, down to the pixels behind a number. Only this machine can reach it unless --host says otherwise.
    """
    from stereogauge.store import open_store

    if importlib.util.find_spec("fastapi") is None or importlib.util.find_spec("uvicorn") is None:
        raise MissingDependency("fastapi", "web", "The site")
    if "://" not in store and not Path(store).is_file():
        raise StereogaugeError(f"{store}: there is no such store; make one with `stereogauge demo` or `evaluate`.")
    from stereogauge.web.hiding import Hidden
    from stereogauge.web.site import Site
    from stereogauge.web.source import StoreSource
    from stereogauge.web.submissions.rules import Rules
    from stereogauge.web.submissions.submissions import Submissions

    with open_store(store, read_only=not submissions) as opened:
        source = StoreSource(opened)
        taken = None
        if submissions or issue_token or revoke_token:
            rules = Rules(
                per_period=limit,
                period_hours=period,
                largest_bytes=largest << 20,
                seconds=time_limit,
                hidden=tuple(hidden or ()),
                worker_user=worker_user,
            )
            taken = Submissions(opened, source, data or _folder_beside(store), rules, dataset)
        if taken is not None and (issue_token or revoke_token):
            _change_tokens(taken, issue_token, revoke_token)
            return
        _check_hidden(opened, hidden or [])
        shown = _checked_shows(hidden_shows or [])
        if taken is not None:
            _check_account(taken, worker_user)
            taken.dataset()  # says now, not to the first submitter, which of several must be named
        _run(Site(source, Hidden(hidden or (), shown), taken, store), export, host, port, host_name or [], proxy or [])


def _check_hidden(store: Store, patterns: list[str]) -> None:
    """Refuse a pattern that hides nothing: a misspelt one would show what it was meant to hide."""
    from stereogauge.web.hiding import Hidden

    known = [(scene, entry.name) for entry in store.datasets() for scene in entry.scenes]
    for pattern in patterns:
        if known and not any(Hidden([pattern])(scene, dataset) for scene, dataset in known):
            names = shortened((f"{dataset}/{scene}" for scene, dataset in known), MOST_NAMED)
            raise StereogaugeError(f"--hidden {pattern!r} matches no scene of the store; it holds {names}.")


def _checked_shows(names: list[str]) -> list[Shown]:
    from stereogauge.web.hiding import Shown

    for name in names:
        if name not in get_args(Shown):
            raise unknown_name("value of --hidden-shows", name, get_args(Shown))
    return [name for name in get_args(Shown) if name in names]


def _check_account(taken: Submissions, wanted: str | None) -> None:
    """Say who reads uploads where it is root, or where somebody without rights could read the hidden ground truth."""
    from stereogauge.evaluation.rights import NOBODY, can_run, readable

    account = taken.account
    if account is None:
        if wanted is None and sys.platform == "linux" and os.geteuid() == 0:
            say(
                f"Uploads are read with the rights of root, because the user {NOBODY} cannot run {sys.executable}: "
                "install Stereogauge where every user can read it, or start the server as a user without rights."
            )
        return
    if not can_run(account):
        raise StereogaugeError(
            f"The user {account.name!r}, who is to read uploads, cannot run {sys.executable} with Stereogauge: install "
            "it where every user can read it, or name another user with --worker-user."
        )
    found = readable(account, taken.hidden_files())
    if found:
        say(
            f"The user {account.name}, who reads uploads, can also read hidden ground truth such as {found[0]}; take "
            "that right away, for example with chmod go= on its folder."
        )


def _folder_beside(store: str) -> Path:
    if "://" in store:
        raise StereogaugeError("A store on a server has no folder beside it; say with --data where submissions go.")
    return Path(f"{store.removesuffix('.sqlite')}-submissions")


def _change_tokens(taken: Submissions, issue: str | None, revoke: str | None) -> None:
    try:
        if revoke:
            say(f"{taken.tokens.revoke(revoke)} token(s) of {revoke} revoked")
        if issue:
            typer.echo(taken.tokens.issue(issue))
            say(f"This token of {issue} is shown only now; the server keeps its hash.")
    finally:
        taken.stop()


def _run(site: Site, export: Path | None, host: str, port: int, names: list[str], proxies: list[str]) -> None:
    from stereogauge.web.app import create_app
    from stereogauge.web.security import LOCAL_HOSTS

    if export is not None:
        from stereogauge.web.export import export_site

        written = export_site(site, export)
        say(f"{written} files in {export}; any web server shows them, e.g. python -m http.server -d {export}")
        return
    import uvicorn

    from stereogauge.web.server import server_config

    app = create_app(site, (*LOCAL_HOSTS, *names, *((host,) if host not in ("0.0.0.0", "::") else ())))
    say(f"http://{'[' + host + ']' if ':' in host else host}:{port}/  (stop with Ctrl-C)")
    config = server_config(app, proxies, host=host, port=port, log_level="warning", timeout_graceful_shutdown=5)
    uvicorn.Server(config).run()
