"""`stereogauge serve`: the interactive benchmark site for a store."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from stereogauge import store as stores
from stereogauge.cli.output import say, working
from stereogauge.errors import MissingDependency, StereogaugeError, one_of
from stereogauge.loading import Declaration, number, whole
from stereogauge.text import shortened

MOST_NAMED = 20
LOCAL = ("127.0.0.1", "::1", "localhost")

if TYPE_CHECKING:
    from stereogauge.store import Store
    from stereogauge.web.site import Site
    from stereogauge.web.submissions.api import HostedSubmissions


class SubmissionLimits(Declaration, frozen=True):
    """What a submitter may do, as the options of `serve` say it."""

    limit: Annotated[int, whole("Submissions that one submitter may make in a period.", least=1)] = 10
    period: Annotated[float, number("Length of that period in hours.", "h", above=0, most=1e6)] = 24.0
    largest: Annotated[int, whole("Largest upload in MiB.", least=1, most=1 << 20)] = 512
    time_limit: Annotated[float, number("Seconds for the evaluation of a submission.", "s", above=0, most=1e6)] = 3600.0


NO_LIMITS_GIVEN = SubmissionLimits()


def command(
    store: Annotated[str, typer.Argument(metavar="STORE", help="SQLite file or postgresql+psycopg://user@host/name.")],
    host: Annotated[str, "Address to listen on; 0.0.0.0: all; unix:PATH: a socket for a proxy."] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=0, max=65535)] = 8000,
    host_name: Annotated[list[str] | None, "A name under which the site is reached from outside; repeatable."] = None,
    proxy: Annotated[
        list[str] | None, "Address of a reverse proxy whose X-Forwarded-For is believed; repeatable."
    ] = None,
    hidden: Annotated[
        list[str] | None, "Scenes whose ground truth never leaves the server, e.g. 'kitti-2015/*'; repeatable."
    ] = None,
    hidden_shows: Annotated[
        list[str] | None, "What visitors see of hidden scenes beside means: scores (one by one), blocks; repeatable."
    ] = None,
    export: Annotated[Path | None, "Write the site as files for any web host into this folder, and stop."] = None,
    submissions: Annotated[bool, "Take submissions from holders of a token."] = False,
    data: Annotated[Path | None, "Folder for submissions; default: beside the store, STORE-submissions."] = None,
    dataset: Annotated[
        str | None, typer.Option(help="The dataset that submissions are for, where the store holds several.")
    ] = None,
    limits: SubmissionLimits = NO_LIMITS_GIVEN,
    issue_token: Annotated[
        str | None, typer.Option(metavar="NAME", help="Print a new token for a submitter, once, and stop.")
    ] = None,
    revoke_token: Annotated[
        str | None, typer.Option(metavar="NAME", help="Revoke a submitter's tokens, and stop.")
    ] = None,
) -> None:
    """Serve the interactive benchmark site for a store.

    Opens a site on which visitors choose scenes, regions, metrics, algorithms, model and weights, and see the answer
    change at once, down to the pixels behind a number. Only this machine can reach it unless --host says otherwise.
    """
    if importlib.util.find_spec("fastapi") is None or importlib.util.find_spec("uvicorn") is None:
        raise MissingDependency("fastapi", "web", "The site")
    if "://" not in store and not Path(store).is_file():
        raise StereogaugeError(f"{store}: there is no such store; make one with `stereogauge demo` or `evaluate`.")
    of_tokens = issue_token is not None or revoke_token is not None
    public = host not in LOCAL or bool(host_name or proxy)
    if submissions and not of_tokens and public and hasattr(os, "geteuid") and os.geteuid() == 0:
        # Uploads of strangers are not read with the rights of root.
        raise StereogaugeError(
            "A public server that takes submissions must not run as root; run it as a user without rights, for example "
            "with docs/guide/hosting/stereogauge.service (systemd) or docs/guide/hosting/compose.yaml."
        )
    from stereogauge.web.hiding import Hidden, Shown
    from stereogauge.web.site import Site
    from stereogauge.web.source import StoreSource

    with stores.open_store(store, read_only=not submissions) as opened:
        source = StoreSource(opened)
        taken = None
        if submissions or of_tokens:
            from stereogauge.web.submissions.api import HostedSubmissions
            from stereogauge.web.submissions.jobs import Rules

            rules = Rules(
                per_period=limits.limit,
                period_hours=limits.period,
                largest_bytes=limits.largest << 20,
                seconds=limits.time_limit,
                hidden=tuple(hidden or ()),
            )
            if data is None and "://" in store:
                raise StereogaugeError(
                    "A store on a server has no folder beside it; say with --data where submissions go."
                )
            folder = data or Path(f"{store.removesuffix('.sqlite')}-submissions")
            taken = HostedSubmissions(opened, source, folder, rules, dataset)
        try:
            if taken is not None and of_tokens:
                _change_tokens(taken, issue_token, revoke_token)
                return
            _check_hidden(opened, hidden or [])
            if hidden and "://" not in store:
                _hide_digits(Path(store))
            for name in hidden_shows or ():
                one_of("value of --hidden-shows", name, get_args(Shown))
            shown = [name for name in get_args(Shown) if name in (hidden_shows or ())]
            if taken is not None:
                taken.open()
                taken.dataset()  # says now, not to the first submitter, which of several must be named
            site = Site(source, Hidden(hidden or (), shown), taken, store)
            _run(site, export, host, port, host_name or [], proxy or [])
        finally:
            if taken is not None:
                taken.stop()


def _check_hidden(store: Store, patterns: list[str]) -> None:
    """Refuse a pattern that hides nothing: a misspelt one would show what it was meant to hide."""
    from stereogauge.web.hiding import Hidden

    known = [(scene, entry.name) for entry in store.datasets() for scene in entry.scenes]
    for pattern in patterns:
        if known and not any(Hidden([pattern])(scene, dataset) for scene, dataset in known):
            names = shortened((f"{dataset}/{scene}" for scene, dataset in known), MOST_NAMED)
            raise StereogaugeError(f"--hidden {pattern!r} matches no scene of the store; it holds {names}.")


def _hide_digits(store: Path) -> None:
    """Let only the owner read a store with all digits of hidden scores."""
    for path in (store, store.with_name(f"{store.name}-wal"), store.with_name(f"{store.name}-shm")):
        mode = path.stat().st_mode & 0o777 if path.exists() else 0
        if mode & 0o077 and os.name == "posix":
            try:
                path.chmod(mode & 0o700)
            except OSError:
                raise StereogaugeError(
                    f"{path} holds hidden scores and others may read it; its owner must run: chmod go= {path}"
                ) from None
            say(f"{path} holds hidden scores: only its owner may read it now.")


def _change_tokens(taken: HostedSubmissions, issue: str | None, revoke: str | None) -> None:
    if revoke is not None:
        say(f"{taken.tokens.revoke(revoke)} token(s) of {revoke} revoked")
    if issue is not None:
        typer.echo(taken.tokens.issue(issue))
        say(f"This token of {issue} is shown only now; the server keeps its hash.")


def _run(site: Site, export: Path | None, host: str, port: int, names: list[str], proxies: list[str]) -> None:
    from stereogauge.web.app import create_app
    from stereogauge.web.security import LOCAL_HOSTS

    if export is not None:
        from stereogauge.evaluation.progress import TimeLeft
        from stereogauge.web.export import export_site

        ahead = TimeLeft()
        with working("export", ahead):
            written = export_site(site, export, ahead)
        say(f"{written} files in {export}; any web server shows them, e.g. python -m http.server -d {export}")
        return
    import uvicorn

    from stereogauge.web.server import SOCKETS_CLIENT, UNIX, listening, server_config

    unix = host.startswith(UNIX)
    sockets = listening(host, port)
    own = () if unix or host in ("0.0.0.0", "::") else (host,)
    app = create_app(site, (*LOCAL_HOSTS, *names, *own))
    shown = f"[{host}]" if ":" in host else host
    say(f"{host if unix else f'http://{shown}:{port}/'}  (stop with Ctrl-C)")
    config = server_config(
        app, [*proxies, SOCKETS_CLIENT] if unix else proxies, log_level="warning", timeout_graceful_shutdown=5
    )
    uvicorn.Server(config).run(sockets)
