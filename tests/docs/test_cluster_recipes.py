"""What the page on clusters and the files beside it say is run as far as one machine without Docker or a queue can."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import yaml
from tests.object_store import BUCKET, ObjectStore, free_port

from stereogauge import open_store

from .snippets import ROOT, Snippet, snippets
from .test_snippets import check_options

PAGE = ROOT / "docs" / "guide" / "cluster.md"
FILES = ROOT / "docs" / "guide" / "cluster"
STORE = "postgresql+psycopg://stereogauge@database/scores"
SCHEDULER = "tcp://scheduler:8786"


def block(start: str) -> Snippet:
    """The snippet of the page in which some command starts so."""
    return next(s for s in snippets(PAGE) if f"\n$ {start}" in f"\n{s.text}")


def compose() -> dict:
    return yaml.safe_load((FILES / "compose.yaml").read_text(encoding="utf-8"))


def kubernetes() -> list[dict]:
    return list(yaml.safe_load_all((FILES / "kubernetes.yaml").read_text(encoding="utf-8")))


def page_commands() -> list[list[str]]:
    return [words for snippet in snippets(PAGE) if snippet.language == "console" for words in snippet.commands]


def of_page(program: str, name: str) -> list[str]:
    """The words of a command on the page about machines without a shared disk."""
    commands = block("python -c").commands
    return next(words for words in commands if words[:2] == [program, name])


def test_the_compose_file_runs_the_commands_of_the_page_and_its_parts_find_each_other() -> None:
    services = compose()["services"]
    assert set(services) == {"scheduler", "worker", "database", "objects", "site"}
    assert shlex.split(services["scheduler"]["command"]) == of_page("dask", "scheduler")
    assert shlex.split(services["worker"]["command"]) == of_page("dask", "worker")
    site = shlex.split(services["site"]["command"])
    assert site[2] == STORE
    check_options(site[1:])
    used = compose()["x-environment"]
    assert used["AWS_ENDPOINT_URL"] == "http://objects:8333"
    assert "-s3.port=8333" in services["objects"]["command"]
    assert services["objects"]["environment"]["AWS_SECRET_ACCESS_KEY"] == used["AWS_SECRET_ACCESS_KEY"]
    database = services["database"]["environment"]
    assert f"postgresql+psycopg://{database['POSTGRES_USER']}@database/{database['POSTGRES_DB']}" == STORE
    assert database["POSTGRES_PASSWORD"] == used["PGPASSWORD"]
    for name in ("scheduler", "worker", "site"):
        assert services[name]["environment"] == used
        assert "volumes" not in services[name], f"{name} reads everything from the object store and the database"
    mounted = [volume.partition(":")[0] for part in services.values() for volume in part.get("volumes", ())]
    assert set(mounted) == set(compose()["volumes"])
    secrets = set(re.findall(r"\$\{(\w+):\?", (FILES / "compose.yaml").read_text(encoding="utf-8")))
    assert all(f"{name}=" in block("docker build").text for name in secrets)
    ports = [port for part in services.values() for port in part.get("ports", ())]
    assert all(port.startswith("127.0.0.1:") for port in ports), "nothing is open to the network unasked"


def test_docker_accepts_the_compose_file() -> None:
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode:
        pytest.skip("needs docker with its compose plug-in")
    secrets = {"OBJECTS_SECRET": "x", "DATABASE_PASSWORD": "y"}
    words = [docker, "compose", "-f", str(FILES / "compose.yaml"), "config", "--quiet"]
    done = subprocess.run(words, env={**os.environ, **secrets}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_image_installs_extras_that_exist() -> None:
    text = (FILES / "Dockerfile").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    [extras] = re.findall(r'"/source\[([\w,]+)\]"', text)
    assert all(re.search(rf"^{extra} = \[", project, re.MULTILINE) for extra in extras.split(","))
    assert {"cluster", "postgres", "web"} <= set(extras.split(","))


def test_the_kubernetes_recipe_runs_the_commands_of_the_page_and_its_parts_find_each_other() -> None:
    parts = {(part["kind"], part["metadata"]["name"]): part for part in kubernetes()}
    versions = {"Deployment": "apps/v1", "Service": "v1", "Job": "batch/v1"}
    assert all(part["apiVersion"] == versions[kind] for (kind, _), part in parts.items())
    commands = {}
    for (kind, name), part in parts.items():
        if kind == "Service":
            continue
        template = part["spec"]["template"]
        [container] = template["spec"]["containers"]
        commands[name] = container["command"]
        if kind == "Deployment":
            assert part["spec"]["selector"]["matchLabels"] == template["metadata"]["labels"]
        mounts = {mount["name"] for mount in container.get("volumeMounts", ())}
        assert mounts == {volume["name"] for volume in template["spec"].get("volumes", ())}
        assert all("emptyDir" in volume for volume in template["spec"].get("volumes", ())), "no shared disk"
    assert commands["scheduler"] == of_page("dask", "scheduler")
    assert commands["worker"] == of_page("dask", "worker")
    assert " ".join(commands["evaluate"]).replace("=", " ") == " ".join(of_page("stereogauge", "evaluate"))
    service = parts["Service", "scheduler"]["spec"]
    assert service["selector"] == parts["Deployment", "scheduler"]["spec"]["template"]["metadata"]["labels"]
    assert service["ports"][0]["port"] == 8786
    assert parts["Job", "evaluate"]["spec"]["template"]["spec"]["restartPolicy"] == "OnFailure"


def test_the_slurm_script_is_a_script_and_names_what_the_page_names() -> None:
    script = FILES / "slurm.sh"
    done = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    text = script.read_text(encoding="utf-8")
    assert STORE in text
    assert all(re.match(r"#SBATCH --[a-z-]+(=\S+)?$", line) for line in text.splitlines() if "SBATCH" in line)
    variables = set(re.findall(r"\$\{([A-Z]+):-", text))
    named = {word.partition("=")[0] for words in page_commands() for word in words if re.match(r"[A-Z]+=", word)}
    assert named & {"DATASET", "RESULTS"} == {"DATASET", "RESULTS"} <= variables
    for line in re.findall(r"^stereogauge .*$", text, re.MULTILINE):
        check_options(shlex.split(line)[1:])


@pytest.fixture
def elsewhere(workspace: Path, object_store: ObjectStore, postgres_url: str, tmp_path: Path) -> dict[str, str]:
    """What names of the page stand for here, and programs as a shell finds them."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, module in {"dask": "dask", "stereogauge": "stereogauge"}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n')
    (programs / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (programs / "srun").write_text('#!/bin/sh\ncd "$(mktemp -d)"\nexec "$@"\n')
    for program in programs.iterdir():
        program.chmod(0o755)
    return {"path": f"{programs}:{os.environ['PATH']}", "store": postgres_url, "port": str(free_port())}


def environment(elsewhere: dict[str, str], folder: Path) -> dict[str, str]:
    folder.mkdir(parents=True, exist_ok=True)
    return {**os.environ, "PATH": elsewhere["path"], "STEREOGAUGE_CACHE": str(folder / "cache")}


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process and those that it started, at once: a worker would wait for its scheduler."""
    family = [*psutil.Process(process.pid).children(recursive=True), process]
    for member in family:
        member.kill()
    process.wait()


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.postgres
def test_the_commands_of_the_page_evaluate_without_a_shared_disk(elsewhere: dict[str, str], tmp_path: Path) -> None:
    """In order, programs that stay in the background, names of machines replaced."""
    background: list[subprocess.Popen[bytes]] = []
    # Another folder than that of the data, so that only the first command sees a local file.
    places = {"python": Path.cwd()}
    try:
        for words in block("python -c").commands:
            line = shlex.join(words).replace(SCHEDULER, f"tcp://127.0.0.1:{elsewhere['port']}")
            line = line.replace(STORE, elsewhere["store"]).replace("--port 8786", f"--port {elsewhere['port']}")
            folder = places.get(words[0], tmp_path / words[1])
            options = {"cwd": folder, "env": environment(elsewhere, folder)}
            if words[0] == "dask":
                background.append(subprocess.Popen(shlex.split(line), **options, stderr=subprocess.DEVNULL))
                time.sleep(0.1)
                continue
            done = subprocess.run(
                shlex.split(line), **options, capture_output=True, text=True, check=False, timeout=300
            )
            # `validate` ends with 1 where it finds something to mend.
            assert done.returncode in ((0, 1) if words[1] == "validate" else (0,)), f"{line}\n{done.stderr}"
    finally:
        for process in background:
            end(process)
    with open_store(elsewhere["store"]) as store:
        assert store.counts()["cells"] == 4 * len(os.listdir("MiddEval3/trainingQ"))
        assert {entry.name for entry in store.algorithms()} == {"SGM", "SGBM", "BM", "opencv-bm"}
        assert store.failures() == []


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.postgres
def test_the_slurm_script_evaluates_where_srun_starts_its_program_here(
    elsewhere: dict[str, str], object_store: ObjectStore, tmp_path: Path
) -> None:
    top = tmp_path.name
    object_store.put_folder(Path("MiddEval3"), f"{top}/MiddEval3")
    object_store.put_folder(Path("results"), f"{top}/results")
    folder = tmp_path / "job"
    variables = {
        "DATASET": f"middlebury-v3:Q:s3://{BUCKET}/{top}/MiddEval3",
        "RESULTS": f"s3://{BUCKET}/{top}/results",
        "STORE": elsewhere["store"],
        "PORT": elsewhere["port"],
        "SLURMD_NODENAME": "127.0.0.1",
        "SLURM_TMPDIR": str(folder),
        "USER": "tester",
    }
    with open(tmp_path / "log", "wb") as log:
        job = subprocess.Popen(
            ["bash", str(FILES / "slurm.sh")],
            cwd=tmp_path,
            env={**environment(elsewhere, folder), **variables},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            code = job.wait(300)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(job.pid, signal.SIGKILL)  # as the queue does when a job has ended
    assert code == 0, (tmp_path / "log").read_text(encoding="utf-8")[-3000:]
    with open_store(elsewhere["store"]) as store:
        assert store.counts()["cells"] == 3 * len(os.listdir("MiddEval3/trainingQ"))
        assert store.failures() == []
