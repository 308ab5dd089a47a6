"""Matchers in an evaluation: maps are made once, kept by content, and cost is scored."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stereogauge import Protocol, Scene, StereogaugeError, read_disparity
from stereogauge.datasets.declaration import search_range
from stereogauge.errors import MatcherError
from stereogauge.evaluation.executors import InProcess
from stereogauge.evaluation.fingerprints import ContentHashes
from stereogauge.evaluation.matchers import make_maps, wanted_matcher
from stereogauge.evaluation.progress import Progress
from stereogauge.evaluation.run import make_plan, run_plan

WRITER = """import sys
left, right, out, ndisp = sys.argv[1:]
width, height = 32, 24
with open(out, "wb") as file:
    file.write(b"Pf\\n32 24\\n-1.0\\n")
    import struct
    file.write(struct.pack("<f", float(ndisp)) * (width * height))
"""


class Counting(InProcess):
    """Counts what is really run."""

    def __init__(self) -> None:
        self.calls = 0

    def submit(self, function, /, *arguments, **options):
        self.calls += 1
        return super().submit(function, *arguments, **options)


@pytest.fixture
def program(tmp_path: Path) -> str:
    script = tmp_path / "writer.py"
    script.write_text(WRITER, encoding="utf-8")
    return f"cmd:{sys.executable} {script} {{left}} {{right}} {{out}} {{ndisp}}"


def made(benchmark, store, folder, *texts, executor=None, **options):
    wanted = [wanted_matcher(text, **options) for text in texts]
    hashes = ContentHashes(store)
    return make_maps(wanted, benchmark.dataset(), folder, executor or Counting(), Progress(), hashes=hashes)


def test_a_map_is_made_once(benchmark, store, tmp_path):
    first, second = Counting(), Counting()
    one = made(benchmark, store, tmp_path / "maps", "opencv-bm", executor=first)
    two = made(benchmark, store, tmp_path / "maps", "opencv-bm", executor=second)
    assert (first.calls, second.calls) == (3, 0)
    assert one.results == two.results
    assert set(one.results[0].maps) == set(benchmark.scenes)


def test_a_matcher_is_described_by_its_declaration(benchmark, store, tmp_path):
    (result,) = made(benchmark, store, tmp_path / "maps", "quick=opencv-bm:block=9").results
    assert result.description.startswith("cv2.StereoBM: sums of absolute differences")
    assert result.about["publication"] == "OpenCV, cv2.StereoBM"
    assert "block = 9" in result.about["parameters"]
    assert result.about["hardware"]


def test_other_parameters_or_images_make_another_map(benchmark, store, tmp_path):
    made(benchmark, store, tmp_path / "maps", "opencv-bm")
    parameters, images = Counting(), Counting()
    made(benchmark, store, tmp_path / "maps", "opencv-bm:block=9", executor=parameters)
    barn = benchmark.root / "trainingQ" / "Barn"
    (barn / "im1.png").write_bytes((benchmark.root / "trainingQ" / "Hill" / "im1.png").read_bytes())
    made(benchmark, store, tmp_path / "maps", "opencv-bm", executor=images)
    assert (parameters.calls, images.calls) == (3, 1)


def test_a_program_runs_with_the_scenes_range_and_again_when_it_changes(benchmark, store, tmp_path, program):
    result = made(benchmark, store, tmp_path / "maps", f"mine={program}")
    assert result.failures == ()
    assert result.results[0].name == "mine"
    assert (read_disparity(result.results[0].maps["Barn"]) == 16).all()
    (tmp_path / "writer.py").write_text(WRITER + "# changed\n", encoding="utf-8")
    again = Counting()
    made(benchmark, store, tmp_path / "maps", f"mine={program}", executor=again)
    assert again.calls == 3


def test_time_processor_time_and_memory_become_scores(benchmark, store, tmp_path):
    result = made(benchmark, store, tmp_path / "maps", "opencv-sgbm")
    protocol = Protocol(metrics=("bad@1", "seconds", "cpu-seconds", "peak-memory"), regions=("all",))
    run_plan(make_plan(store, benchmark.dataset(), result.results, protocol), store)
    table = store.scores()
    for metric, fact in (("seconds", "seconds"), ("cpu-seconds", "cpu_seconds"), ("peak-memory", "peak_memory")):
        if fact in result.results[0].runs["Barn"]:
            assert table.value(metric, scene="Barn") == result.results[0].runs["Barn"][fact]
    assert table.value("seconds", scene="Barn") > 0
    again = make_plan(store, benchmark.dataset(), result.results, protocol)
    assert again.cells == 0


def test_the_memory_of_a_program_is_never_taken_from_ours(benchmark, store, tmp_path, program):
    result = made(benchmark, store, tmp_path / "maps", f"mine={program}")
    told = [facts["peak_memory"] for facts in result.results[0].runs.values() if "peak_memory" in facts]
    assert all(amount > 1 for amount in told)
    assert all({"seconds", "cpu_seconds"} <= facts.keys() for facts in result.results[0].runs.values())


def test_a_program_that_fails_leaves_its_last_words(benchmark, store, tmp_path):
    script = tmp_path / "fails.py"
    script.write_text("import sys; sys.stderr.write('no licence'); sys.exit(4)", encoding="utf-8")
    result = made(benchmark, store, tmp_path / "maps", f"cmd:{sys.executable} {script} {{left}} {{right}} {{out}}")
    assert len(result.failures) == 3
    _, scene, reason, detail = result.failures[0]
    assert scene in benchmark.scenes
    assert "exit code 4" in reason
    assert detail == "no licence"
    assert result.results[0].maps == {}


def test_a_program_that_takes_too_long_is_ended(benchmark, store, tmp_path):
    text = f"slow=cmd:{sys.executable} -c 'import time; time.sleep(600)' {{left}} {{right}} {{out}}"
    result = made(benchmark, store, tmp_path / "maps", text, time_limit=0.2)
    assert all("time limit of 0.2 s" in reason for _, _, reason, _ in result.failures)
    assert len(result.failures) == 3


def test_names_and_limits_of_matchers():
    assert wanted_matcher("opencv-sgbm:block=5").name == "opencv-sgbm:block=5"
    assert wanted_matcher("quick=opencv-sgbm:block=5").text == "opencv-sgbm:block=5"
    assert wanted_matcher("quick=opencv-sgbm:block=5").name == "quick"
    assert dict(wanted_matcher("sgm", time_limit=3.0).parameters) == {"threads": 1}
    assert dict(wanted_matcher("sgm:threads=2").parameters) == {}
    assert dict(wanted_matcher("cmd:true {left} {right} {out}", memory_limit=2.0).parameters) == {"memory_limit": 2.0}
    with pytest.raises(StereogaugeError, match="Unknown matcher"):
        wanted_matcher("nonsense")


def test_a_scene_without_a_range_needs_one():
    assert search_range(Scene("s"), 32) == 32
    with pytest.raises(MatcherError, match="give --ndisp"):
        search_range(Scene("s"), None)


PEAKS = """
import json, sys
import numpy as np
from stereogauge.evaluation.memory import PeakMemory
before = np.ones(40 * 2**20, np.uint8)
peaks = []
for size in (2**16, 80 * 2**20):
    with PeakMemory() as peak:
        np.ones(size, np.uint8)
    peaks.append(peak.bytes)
json.dump(peaks, sys.stdout)
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak of a process is known on Linux only")
def test_the_peak_is_what_a_call_took_not_what_was_there_before():
    """In a process of its own, as workers are: threads of other tests would give back memory meanwhile."""
    answer = subprocess.run([sys.executable, "-c", PEAKS], capture_output=True, text=True, check=True)
    small, large = json.loads(answer.stdout)
    assert small < 10 * 2**20
    assert 78 * 2**20 < large < 95 * 2**20


COLD = """
import json, sys
import numpy as np
import stereogauge as sg
image = np.random.default_rng(0).integers(0, 255, (120, 160), np.uint8)
times = [sg.match(image, np.roll(image, -5, 1), matcher="sgm", ndisp=32, threads=1, lr_check=1, fill=True).seconds
         for _ in range(5)]
json.dump(times, sys.stdout)
"""


@pytest.mark.slow
def test_the_first_run_time_holds_no_compilation(tmp_path):
    """In a process without any compiled kernel the first run is about as fast as the best of the others."""
    environment = {**os.environ, "STEREOGAUGE_CACHE": str(tmp_path)}
    answer = subprocess.run([sys.executable, "-c", COLD], capture_output=True, text=True, check=True, env=environment)
    first, *others = json.loads(answer.stdout)
    assert first < 0.3 + 5 * min(others), "compiling takes seconds"


def test_a_run_time_says_what_it_depends_on(benchmark, store, tmp_path):
    result = made(benchmark, store, tmp_path / "maps", "sgm")
    facts = result.results[0].runs["Barn"]
    assert {"width": 32, "height": 24, "ndisp": 16, "threads": 1}.items() <= facts.items()
    assert facts["processor"]
    protocol = Protocol(metrics=("seconds",), regions=("all",))
    run_plan(make_plan(store, benchmark.dataset(), result.results, protocol), store)
    note = store.scores().score("seconds", scene="Barn").note
    assert note == f"32×24, 16 disparities, 1 thread, {facts['processor']}"
