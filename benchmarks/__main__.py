"""Times of Stereogauge against peers in the same run: `python -m benchmarks [NAME …]`, `make bench`.

Work of ours and of the peer alternates (A B A B …), so that drift of the machine hits both. Each row gives medians and
minima, their ratios, the noise (the same work timed twice, as a ratio) and whether the goal is met. No row fails a
run: times depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.groups import GROUPS, Group
from benchmarks.machine import Others, describe, machine, warning
from benchmarks.report import Report


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    made.add_argument("names", nargs="*", metavar="NAME", help="groups to run, as with --only")
    made.add_argument("--only", metavar="NAME[,NAME]", action="append", default=[], help="run these groups only")
    made.add_argument("--large", action="store_true", help="also run what takes gigabytes and minutes (group large)")
    made.add_argument("--json", metavar="FILE", help="write everything measured as JSON; - for standard output")
    made.add_argument("--list", action="store_true", help="list the groups and end")
    return made


def wanted(names: Sequence[str], large: bool, groups: Sequence[Group]) -> list[Group]:
    """The groups of these names, in the order of the list; all but the large ones without names."""
    known = {group.name: group for group in groups}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"benchmarks: there is no group {unknown[0]!r}; there are {', '.join(known)}.")
    if not names:
        return [group for group in groups if large or not group.large]
    return [group for group in groups if group.name in names or (large and group.large)]


def main(words: Sequence[str] | None = None, groups: Sequence[Group] = GROUPS) -> int:
    asked = parser().parse_args(words)
    if asked.list:
        for group in groups:
            print(f"{group.name:11s} {group.title}{' (only with --large or by name)' if group.large else ''}")
        return 0
    names = [name.strip() for text in asked.only for name in text.split(",") if name.strip()]
    chosen = wanted([*asked.names, *names], asked.large, groups)
    report = Report(stream=sys.stderr if asked.json == "-" else None)
    facts = machine()
    report.say(describe(facts))
    report.say(", ".join(f"{name} {number}" for name, number in facts["versions"].items()))
    report.say("load " + ", ".join(f"{value:.2f}" for value in facts["load"]))
    if warning(facts):
        print(warning(facts), file=sys.stderr)
    others, date = Others(), datetime.now(UTC).strftime("%Y-%m-%d")
    failed = 0
    for group in chosen:
        report.group = group.name
        report.say(f"— {group.name}: {group.title}")
        failed += not _run(group, report)
        facts |= others.shares()
        if asked.json and asked.json != "-":
            # After each group, so that a run that is stopped leaves behind what it has measured.
            _write(asked.json, report.to_dict(facts, date))
    report.say(f"{report.summary()}; others used {100 * facts['others']:.0f} % of the cores meanwhile")
    if asked.json == "-":
        _write(asked.json, report.to_dict(facts, date))
    return 1 if failed else 0


def _run(group: Group, report: Report) -> bool:
    """Whether a group ran to its end; one that fails does not take the rows of the others with it."""
    try:
        group.run(report)
    except Exception as problem:
        traceback.print_exc()
        report.miss(group.title, f"stopped by {type(problem).__name__}: {problem}")
        return False
    return True


def _write(place: str, document: dict[str, object]) -> None:
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    if place == "-":
        sys.stdout.write(text)
    else:
        Path(place).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
