"""A regression gate: has an algorithm become worse than it was in a baseline store?

A limit such as `bad@1:nonocc=+0.1` allows a score to rise by 0.1 in its own unit, `bad@1:nonocc=+5%` by a twentieth of
the old score, `bad@1:nonocc=12` to the value 12. Where higher is better, the same limits hold for a fall.

What the baseline has and the new scores lack fails too: an algorithm, a scene, a map that could not be read, a scene
with other ground truth.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
from msgspec import Struct

from stereogauge.decision.words import Claim, render
from stereogauge.errors import StereogaugeError
from stereogauge.metrics.registry import parse_column
from stereogauge.protocol import Aggregations
from stereogauge.ranking.significance import signed_rank_p
from stereogauge.scores.aggregation import aggregated, column_costs
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.facts import unit_means

LIMIT = re.compile(r"(?P<sign>[+]?)(?P<amount>\d+(?:\.\d*)?|\.\d+)(?P<percent>%?)")
OVERALL = "all scenes"
LOST = "lost"
LESS_COVERED = 0.01
"""A fall of coverage by more than this share of the pixels fails a score that leaves missing estimates out."""


class Limit(NamedTuple):
    """How far a column may get worse: by `amount` in its unit, by that share of the old score, or up to that value."""

    column: str
    kind: str
    amount: float

    @property
    def text(self) -> str:
        """As it is written on the command line."""
        form = {"absolute": "+{:g}", "relative": "+{:g}%", "value": "{:g}"}[self.kind]
        return form.format(100 * self.amount if self.kind == "relative" else self.amount)

    def allowed(self, old: float) -> float:
        """The largest cost that keeps the limit, given the old one."""
        if self.kind == "absolute":
            return old + self.amount
        return old + self.amount * abs(old) if self.kind == "relative" else self.amount


def parse_limit(text: str) -> Limit:
    """The limit that `bad@1:nonocc=+0.1` writes.

    >>> parse_limit("bad@1:nonocc=+5%")
    Limit(column='bad@1:nonocc', kind='relative', amount=0.05)
    """
    name, equals, amount = text.rpartition("=")
    matched = LIMIT.fullmatch(amount.strip())
    if not equals or matched is None or (matched["percent"] and not matched["sign"]):
        raise StereogaugeError(
            f"A limit is written METRIC:REGION=+AMOUNT (or +5% of the old score, or the largest value), for example "
            f"bad@1:nonocc=+0.1; found {text!r}."
        )
    metric, region = parse_column(name.strip())
    column = metric.id if region is None else f"{metric.id}:{region}"
    value = float(matched["amount"])
    if matched["percent"]:
        return Limit(column, "relative", value / 100)
    return Limit(column, "absolute" if matched["sign"] else "value", value)


class Check(NamedTuple):
    """One limit checked for one algorithm, on one scene or over all: old and new score, and whether it is kept.

    `p_value` is of Wilcoxon's test of old against new over the independent scenes, NaN where fewer than two can be
    paired; `chance` marks a rise that the test cannot distinguish from chance, which does not fail the gate. A check
    of something that is missing has no limit, and `note` says what is missing.
    """

    algorithm: str
    column: str
    where: str
    limit: str = ""
    old: float = math.nan
    new: float = math.nan
    kept: bool = False
    p_value: float = math.nan
    chance: bool = False
    note: str = ""

    @property
    def failed(self) -> bool:
        """Whether the gate fails by this check."""
        return not self.kept and not self.chance

    @property
    def verdict(self) -> str:
        """The outcome in a few words."""
        if self.kept:
            return f"{self.note} (allowed)" if self.note else "kept"
        return self.note or ("within chance" if self.chance else "worse")

    @property
    def subject(self) -> str:
        """What the check is about, in a few words."""
        if self.limit:
            return f"{self.algorithm} by {self.column}"
        scene = "" if self.where == OVERALL else self.where
        return f"{' on '.join(filter(None, (self.algorithm, scene)))}: {self.note}"

    @property
    def text(self) -> str:
        """What was found, in one line."""
        if not self.limit:
            return self.note
        if math.isnan(self.new):
            return f"there is no score; it was {self.old:g}"
        return f"{self.old:g} became {self.new:g}, allowed {self.limit} {self.note}".strip()


class Gate(Struct, frozen=True):
    """Every check of a gate; `passed` where none of them failed. `left_out` are scenes that only the baseline has."""

    checks: tuple[Check, ...]
    left_out: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every limit is kept."""
        return not any(check.failed for check in self.checks)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The verdict, the headline first."""
        failed = [check for check in self.checks if check.failed]
        numbers = {"failed": float(len(failed)), "checks": float(len(self.checks))}
        columns = tuple(dict.fromkeys(check.subject for check in failed))
        verdict = Claim("gate-failed" if failed else "gate-passed", columns, numbers)
        return (verdict, Claim("only-in-baseline", self.left_out)) if self.left_out else (verdict,)

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        return render(self.claims).sentence

    def junit(self) -> str:
        """JUnit XML, as continuous integration shows it: one test case per check."""
        failed = sum(check.failed for check in self.checks)
        suite = ElementTree.Element(
            "testsuite", name="stereogauge gate", tests=str(len(self.checks)), failures=str(failed), errors="0"
        )
        for check in self.checks:
            case = ElementTree.SubElement(
                suite, "testcase", classname=f"{check.algorithm}.{check.column}".strip("."), name=check.where
            )
            if check.failed:
                ElementTree.SubElement(case, "failure", message=check.text).text = check.text
            elif check.chance:
                within = f"{check.text}; within chance, p = {check.p_value:.2g}"
                ElementTree.SubElement(case, "system-out").text = within
        root = ElementTree.Element("testsuites")
        root.append(suite)
        ElementTree.indent(root)
        return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"

    def annotations(self) -> str:
        """Workflow commands of GitHub: one error per failed check, or a notice that nothing failed."""
        lines = []
        for check in (check for check in self.checks if check.failed):
            title = _escaped(check.subject).replace(":", "%3A").replace(",", "%2C")
            lines.append(f"::error title={title}::{_escaped(f'{check.where}: {check.text}')}")
        return "".join(f"{line}\n" for line in lines or [f"::notice title=stereogauge gate::{_escaped(self.sentence)}"])


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def gate(
    new: ScoreCube,
    old: ScoreCube,
    limits: Sequence[Limit],
    *,
    names: Mapping[str, str] | None = None,
    per_scene: bool = False,
    significant: bool = False,
    alpha: float = 0.05,
    how: Aggregations = "mean",
    failures: Mapping[tuple[str, str], str] = MappingProxyType({}),
    allow_missing: bool = False,
) -> Gate:
    """Compare the scores of a cube with those of a baseline.

    `names` maps algorithms of the new cube to those of the old one; by default those of the same name are compared.
    Scenes are those that both have. A score that leaves missing estimates out also fails where it covers less of its
    pixels than before. `per_scene` checks every scene on its own, beside all of them together.
    `significant` lets a rise over all scenes pass that Wilcoxon's test over the scenes cannot distinguish from chance.
    A score that the baseline has and the new cube lacks fails, and so do algorithms and scenes that are gone, scenes
    with other ground truth, and maps in `failures` (reasons by algorithm and scene), unless `allow_missing` is given.
    """
    pairs = dict(names) if names is not None else {name: name for name in new.algorithms if name in old.algorithms}
    if not pairs:
        raise StereogaugeError(
            f"No algorithm is in both stores: {', '.join(new.algorithms)} here, {', '.join(old.algorithms)} in the "
            "baseline; name the pair with --algorithm NEW=OLD."
        )
    before, now = ({name: one.truth for name, one in zip(cube.scenes, cube.facts, strict=True)} for cube in (old, new))
    changed = [name for name, truth in before.items() if truth and now.get(name) and now[name] != truth]
    scenes = [name for name in old.scenes if name in new.scenes and name not in changed]
    if not scenes:
        raise StereogaugeError("The two stores have no scene in common; a gate compares scores on the same scenes.")
    lost = [] if names is not None else [name for name in old.algorithms if name not in pairs]
    only_old = tuple(name for name in old.scenes if name not in new.scenes)
    gone = [(name, OVERALL, "gone from the store") for name in lost]
    gone += [("", name, "the scene is gone from the store") for name in only_old]
    gone += [("", name, "its ground truth changed") for name in changed]
    gone += [(name, scene, f"failed: {reason}") for (name, scene), reason in failures.items() if name in pairs]
    checks = [Check(name, "", where, kept=allow_missing, note=note) for name, where, note in gone]
    for limit in limits:
        for column in _columns(limit, new, old):
            for name, earlier in pairs.items():
                later = new.select(algorithms=[name], scenes=scenes, metrics=[str(column)])
                then = old.select(algorithms=[earlier], scenes=scenes, metrics=[str(column)])
                found = _checks(later, then, limit, per_scene, alpha if significant else None, how)
                checks += [one._replace(kept=True) if one.note == LOST and allow_missing else one for one in found]
    return Gate(tuple(checks), only_old)


def _columns(limit: Limit, new: ScoreCube, old: ScoreCube) -> list[Column]:
    """The columns that a limit names, of the baseline; every one of them must be in the new scores too."""
    places = [column for column in old.columns if limit.column in (column.metric, str(column))]
    if not places:
        raise StereogaugeError(
            f"The baseline has no scores of {limit.column}; it has {', '.join(map(str, old.columns[:8]))}"
            f"{' …' if len(old.columns) > 8 else ''}."
        )
    for column in places:
        if column not in new.columns:
            raise StereogaugeError(f"The store has no scores of {column}, which the baseline has; evaluate them.")
    return places


def _checks(
    now: ScoreCube, then: ScoreCube, limit: Limit, per_scene: bool, alpha: float | None, how: Aggregations
) -> list[Check]:
    """The checks of one algorithm in one column; with `alpha` a rise over all scenes that may be chance passes."""
    (name,), (column,) = now.algorithms, now.columns
    old, new = (cube.values[0, :, 0].tolist() for cube in (then, now))
    costs = [column_costs([column], cube.values)[0, :, 0] for cube in (then, now)]
    both = np.isfinite(costs[0]) & np.isfinite(costs[1])
    lost = ~np.isnan(costs[0]) & np.isnan(costs[1])
    checks = [
        Check(name, str(column), now.scenes[place], limit.text, old[place], note=LOST)
        for place in np.flatnonzero(lost).tolist()
    ]
    shared = np.flatnonzero(both).tolist()
    if shared:
        change = unit_means(costs[1][both] - costs[0][both], now.unit_of[both])
        p_value = float(signed_rank_p(change[:, None])[0]) if len(change) > 1 and change.any() else math.nan
        part = [cube.take(scenes=shared) for cube in (then, now)]
        before, after = (float(aggregated(cube, how)[0, 0]) for cube in part)
        check = _check(name, column, OVERALL, limit, before, after)._replace(p_value=p_value)
        if sparser := _sparser(*part):
            check = check._replace(kept=False, note=sparser)
        elif not check.kept and alpha is not None and not p_value < alpha:
            check = check._replace(chance=True)
        checks.append(check)
    if per_scene:
        checks += [_check(name, column, now.scenes[place], limit, old[place], new[place]) for place in shared]
    return checks


def _check(name: str, column: Column, where: str, limit: Limit, old: float, new: float) -> Check:
    before, after = column_costs([column], np.array([[old], [new]]))[:, 0].tolist()
    largest = limit.allowed(before)
    if limit.kind == "value" and column.declared.metric.direction == "higher":
        largest = -limit.amount
    kept = after <= largest + 1e-12 * max(1.0, abs(largest))
    return Check(name, str(column), where, limit.text, old, new, kept)


def _sparser(then: ScoreCube, now: ScoreCube) -> str:
    """What to say where a score that leaves missing estimates out covers less than before: it may look better so."""
    if not now.columns[0].declared.metric.left_out(now.invalid):
        return ""
    before, after = (float(cube.coverage_over_scenes[0, 0]) for cube in (then, now))
    return f"covers {100 * after:.0f} %, was {100 * before:.0f} %" if after < before - LESS_COVERED else ""
