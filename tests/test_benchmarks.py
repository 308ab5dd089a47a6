"""The harness of the benchmarks: options, rows, JSON and page, on work that takes no time. No test asserts a time."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from benchmarks import page
from benchmarks.__main__ import main
from benchmarks.command import imported, python
from benchmarks.curves import Curve, measure_curve
from benchmarks.groups import GROUPS, Group
from benchmarks.machine import Others, machine, warning
from benchmarks.report import Report, Row
from benchmarks.schema import SCHEMA
from benchmarks.timing import Times, amounts, interleave

ROOT = Path(__file__).parents[1]


def toy(report: Report) -> None:
    times = interleave({"ours": lambda: sum(range(100)), "peer": lambda: sum(range(200))}, rounds=4)
    report.row("adding", times["ours"], times["peer"], "adding twice as much", 1e9)
    report.row("fast", Times((1.0, 2.0, 3.0)), Times((4.0, 4.0, 8.0)), "slow | peer", 0.25, "a note", by="fastest")
    report.limit("memory", Times((3.0, 3.2)), 2.0, unit="GB")
    report.miss("Pandora", "it is not installed; make an environment")
    report.curve(Curve("pixels", "pass", (1.0, 2.0, 4.0, 8.0), (3.0, 5.0, 10.0, 20.0)))


def broken(report: Report) -> None:
    raise ValueError("no such scene")


class FakeGroup(Group):
    """A group whose work stands in this file."""

    @property
    def run(self) -> Callable[[Any], None]:
        return {"toy": toy, "broken": broken}[self.name]


FAKES = (FakeGroup("toy", "Toys", ""), FakeGroup("broken", "Broken ones", "", large=True))


@pytest.fixture
def document(tmp_path: Path) -> dict[str, Any]:
    assert main(["--json", str(tmp_path / "run.json")], FAKES) == 0
    found: dict[str, Any] = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture
def empty_page(tmp_path: Path) -> Path:
    path = tmp_path / "performance.md"
    parts = ("measured", "elsewhere", "scaling")
    markers = "\n\n".join(f"<!-- {name}: begin -->\nold {name}\n<!-- {name}: end -->" for name in parts)
    path.write_text(f"# Performance\n\nBefore.\n\n{markers}\n\nAfter.\n", encoding="utf-8")
    return path


def test_the_same_work_timed_twice_gives_the_noise() -> None:
    assert Times((2.0, 3.0, 2.0, 3.0)).noise() == 1.5
    assert Times((3.0, 2.0, 3.0, 2.0)).noise() == 1.5
    assert Times((5.0, 5.0, 5.0)).noise() == 1.0
    assert Times((2.0, 9.0, 4.0, 3.0)).noise("fastest") == 1.5
    assert math.isnan(Times((2.0,)).noise())


def test_work_alternates_and_the_first_round_does_not_count() -> None:
    order: list[str] = []
    times = interleave({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, rounds=2)
    assert "".join(order) == "ababab"
    assert [len(found.values) for found in times.values()] == [2, 2]
    order.clear()
    interleave({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, rounds=2, warm=False)
    assert "".join(order) == "abab"
    turns = iter(range(4))
    assert amounts({"x": lambda: next(turns), "y": lambda: next(turns)}, rounds=2)["y"].values == (1, 3)


def test_a_row_has_both_ratios_and_is_judged_by_the_one_that_its_goal_is_about() -> None:
    row = Row("g", "w", Times((2.0, 4.0, 6.0)), Times((8.0, 8.0, 10.0)), "peer", 0.3, by="fastest")
    assert (row.ratio("median"), row.ratio("fastest")) == (0.5, 0.25)
    assert row.verdict == "met"
    assert Row("g", "w", row.ours, row.theirs, "peer", 0.3).verdict == "missed"
    close = Row("g", "w", Times((4.0, 5.0)), Times((9.0, 9.0)), "peer", 0.45)
    assert (close.noise, close.met, close.verdict) == (1.25, False, "missed within noise")


def test_an_import_too_many_is_a_miss_and_none_is_good() -> None:
    assert Row("g", "imports", Times((0.0,)), Times((1.0,)), "one", 0.0).met
    assert Row("g", "imports", Times((1.0,)), Times((1.0,)), "one", 0.0).verdict == "missed"


def test_slope_of_a_curve() -> None:
    sizes = (1.0, 2.0, 4.0, 8.0)
    assert Curve("n", "w", sizes, tuple(5 * size for size in sizes)).slope == pytest.approx(1)
    assert Curve("n", "w", sizes, tuple(size**2 for size in sizes)).slope == pytest.approx(2)
    assert Curve("n", "w", sizes, (9.0, 9.0, 10.0, 20.0)).slope == pytest.approx(1)
    measured = measure_curve("n", "w", (1, 2), lambda size: lambda: sum(range(size)), rounds=1)
    assert (measured.sizes, len(measured.seconds)) == ((1.0, 2.0), 2)


def test_help_and_list(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    assert all(option in text for option in ("--only", "--json", "--list", "--large"))
    assert main(["--list"]) == 0
    listed = capsys.readouterr().out
    assert all(group.name in listed and group.title in listed for group in GROUPS)


def test_every_module_of_benchmarks_is_in_the_list() -> None:
    modules = {f"benchmarks.{path.stem}" for path in (ROOT / "benchmarks").glob("bench_*.py")}
    assert modules == {group.module for group in GROUPS}
    assert len({group.name for group in GROUPS}) == len(GROUPS)


def test_only_runs_what_is_named_and_an_unknown_name_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "toy"], FAKES) == 0
    text = capsys.readouterr().out
    assert "— toy: Toys" in text
    assert "— broken" not in text
    assert "3 rows, 1 beyond their goal, 1 not measured" in text
    with pytest.raises(SystemExit, match="there is no group 'toys'; there are toy, broken"):
        main(["--only", "toy,toys"], FAKES)


def test_large_work_runs_only_when_asked_for_and_a_failure_keeps_the_other_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--large", "--json", str(tmp_path / "run.json")], FAKES) == 1
    assert "no such scene" in capsys.readouterr().err
    document = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert len(document["rows"]) == 3
    assert document["missing"][-1]["why"] == "stopped by ValueError: no such scene"


def test_json_has_its_schema_and_repeats_the_rows(document: dict[str, Any]) -> None:
    jsonschema.validate(document, SCHEMA)
    adding, fast, memory = document["rows"]
    assert len(adding["ours"]) == 4
    assert (fast["ratio_median"], fast["ratio_fastest"], fast["met"]) == (0.5, 0.25, True)
    assert (memory["unit"], memory["verdict"], memory["noise"]) == ("GB", "missed", pytest.approx(3.2 / 3))
    assert [Row.of(row).to_dict() for row in document["rows"]] == document["rows"]
    assert document["curves"][0]["slope"] == pytest.approx(1)


def test_json_on_standard_output_is_nothing_but_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "toy", "--json", "-"], FAKES) == 0
    printed = capsys.readouterr()
    assert len(json.loads(printed.out)["rows"]) == 3
    assert "— toy" in printed.err


def test_the_page_takes_its_numbers_from_the_run(document: dict[str, Any], empty_page: Path, tmp_path: Path) -> None:
    assert page.main([str(tmp_path / "run.json"), "--page", str(empty_page)]) == 0
    text = empty_page.read_text(encoding="utf-8")
    assert text.startswith("# Performance\n\nBefore.\n")
    assert text.endswith("After.\n")
    assert "old measured" not in text
    assert "old scaling" not in text
    assert "old elsewhere" in text
    assert document["date"] in text
    assert document["machine"]["processor"] in text
    assert (
        "| fast (a note) | 2.00 s (1.00 s) | slow \\| peer | 4.00 s (4.00 s) | 0.500 (0.250) | 2.00 "
        "| ≤ 0.250 by the fastest | yes |" in text
    )
    assert "| memory | 3.10 GB (3.00 GB) | – | – | 1.55 (1.50) | 1.07 | ≤ 2.00 GB | **no** |" in text
    assert "- Not measured: Pandora: it is not installed; make an environment." in text
    assert "| pixels | pass | 1.0 | 1 | 3000 | 8 | 20000 |" in text
    assert "![Seconds over pixels, on logarithmic axes](images/performance-scaling.png)" in text
    data = (tmp_path / "images" / "performance-scaling.csv").read_text(encoding="utf-8")
    assert "pixels,pass,8.0,20.0" in data
    assert (tmp_path / "images" / "performance-scaling.png").read_bytes()[1:4] == b"PNG"
    assert page.main([str(tmp_path / "run.json"), "--page", str(empty_page)]) == 0
    assert empty_page.read_text(encoding="utf-8") == text


def test_parts_of_a_run_are_joined_unless_the_machines_differ(
    document: dict[str, Any], empty_page: Path, tmp_path: Path
) -> None:
    part = {**document, "missing": [], "curves": [], "rows": [{**document["rows"][1], "work": "another"}]}
    (tmp_path / "part.json").write_text(json.dumps(part), encoding="utf-8")
    files = [str(tmp_path / "run.json"), str(tmp_path / "part.json")]
    assert page.main([*files, "--page", str(empty_page)]) == 0
    text = empty_page.read_text(encoding="utf-8")
    assert "| fast (a note) |" in text
    assert "| another (a note) |" in text
    part["machine"] = {**document["machine"], "processor": "another one"}
    (tmp_path / "part.json").write_text(json.dumps(part), encoding="utf-8")
    with pytest.raises(SystemExit, match="they differ in processor"):
        page.main([*files, "--page", str(empty_page)])


def test_another_machine_has_a_table_of_its_own(document: dict[str, Any], empty_page: Path, tmp_path: Path) -> None:
    other = {**document, "machine": {**document["machine"], "processor": "another one", "features": ["avx2"]}}
    other["rows"] = [{**document["rows"][1], "work": "another"}]
    (tmp_path / "other.json").write_text(json.dumps(other), encoding="utf-8")
    files = [str(tmp_path / "run.json"), "--elsewhere", str(tmp_path / "other.json")]
    assert page.main([*files, "--page", str(empty_page)]) == 0
    text = empty_page.read_text(encoding="utf-8")
    measured, elsewhere = text.split("<!-- elsewhere: begin -->")
    assert "| fast (a note) |" in measured
    assert "another one (AVX2)" not in measured
    assert "another one (AVX2)" in elsewhere
    assert "| another (a note) |" in elsewhere


def test_what_is_no_run_and_what_is_no_page_is_one_sentence(
    document: dict[str, Any], empty_page: Path, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps({**document, "rows": [{}]}), encoding="utf-8")
    with pytest.raises(SystemExit, match=r"wrong\.json is no result of `python -m benchmarks --json`: rows/0: "):
        page.main([str(wrong), "--page", str(empty_page)])
    wrong.write_text("{", encoding="utf-8")
    with pytest.raises(SystemExit, match="cannot be read as JSON"):
        page.main([str(wrong), "--page", str(empty_page)])
    empty_page.write_text("# Performance\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="the page needs the lines"):
        page.main([str(tmp_path / "run.json"), "--page", str(empty_page)])


def test_the_page_of_the_documentation_has_the_markers(document: dict[str, Any], tmp_path: Path) -> None:
    shutil.copy(page.PAGE, tmp_path / "copy.md")
    assert page.main([str(tmp_path / "run.json"), "--page", str(tmp_path / "copy.md")]) == 0


def test_the_machine_says_what_it_is_and_whether_it_is_busy() -> None:
    facts = machine()
    assert facts["cores"] >= 1
    assert facts["processor"]
    assert {"python", "numpy", "kernels", "stereogauge"} <= set(facts["versions"])
    assert warning({**facts, "busy": 0.0}) == ""
    assert "The machine is busy: others use 40 %" in warning({**facts, "busy": 0.4})
    shares = Others().shares()
    assert all(0 <= share <= 1 for share in shares.values())


def test_a_command_is_measured_and_a_failing_one_is_an_error() -> None:
    cost = python("-c", "bytearray(50_000_000)")
    assert cost.memory > 50_000_000
    assert cost.seconds > 0
    assert cost.processor > 0
    with pytest.raises(RuntimeError, match="oh dear"):
        python("-c", "raise SystemExit('oh dear')")
    assert imported("--help", among=("argparse_that_is_not_there", "sys")) == ["sys"]
