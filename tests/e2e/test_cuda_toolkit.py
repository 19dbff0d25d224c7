"""Which CUDA toolkit cmake/cuda_toolkit.cmake takes of those that are there: nvcc is a script here."""
import os
import pathlib
import subprocess

import pytest
from gpu_stand_ins import program

FINDER = pathlib.Path(__file__).resolve().parents[2] / "cmake/cuda_toolkit.cmake"
NUMBERS = {"11.8": 11080, "12.8": 12080, "13.0": 13000, "13.5": 13050}


def headers(folder, release):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cuda_bf16.h").touch()
    (folder / "cuda_runtime_api.h").write_text(f"#define CUDART_VERSION  {NUMBERS[release]}\n")


def toolkit(folder, release, include="include", told_folder=None):
    """Its headers are where NVIDIA's installer puts them, or elsewhere; what nvcc tells of them."""
    (folder / "bin").mkdir(parents=True)
    told = f'echo \'#$ INCLUDES="-I{told_folder}" \' >&2' if told_folder else "true"
    nvcc = program(folder / "bin/nvcc", f'case "$1" in --version) echo "Cuda compilation tools, release {release}, V{release}.1";; *) {told};; esac\n')
    if include:
        headers(folder / include, release)
    return nvcc


def found(path, **environment):
    """The nvcc that is taken, or why none is."""
    clean = {name: value for name, value in os.environ.items() if name not in ("CUDA_HOME", "CUDA_PATH")}
    done = subprocess.run(["cmake", "-P", FINDER], env={**clean, **environment, "PATH": f"{path}:/usr/bin:/bin"}, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else " ".join(done.stderr.split())


def test_the_first_that_is_new_enough_is_taken(tmp_path):
    old, new, newer = (toolkit(tmp_path / release, release) for release in ("11.8", "12.8", "13.5"))
    assert found(new.parent, CUDA_HOME=str(newer.parents[1])) == str(newer)
    assert found(new.parent, CUDA_HOME=str(old.parents[1])) == str(new), "an old one hides none behind it"
    assert found(f"{old.parent}:{newer.parent}") == str(newer)


@pytest.mark.parametrize("include, told", [("targets/x86_64-linux/include", False), (None, True)])
def test_headers_are_found_where_nvcc_has_them(tmp_path, include, told):
    elsewhere = tmp_path / "elsewhere/include"
    headers(elsewhere, "13.0")
    nvcc = toolkit(tmp_path / "conda", "13.0", include, elsewhere if told else None)
    assert found(nvcc.parent) == str(nvcc)


def test_headers_of_another_release_are_none(tmp_path):
    nvcc = toolkit(tmp_path / "mixed", "13.5", include=None)
    headers(tmp_path / "mixed/include", "13.0")
    right = toolkit(tmp_path / "right", "13.0")
    assert found(f"{nvcc.parent}:{right.parent}") == str(right)


def test_one_that_was_named_is_the_only_one_and_its_fault_is_told(tmp_path):
    old, new = toolkit(tmp_path / "old", "11.8"), toolkit(tmp_path / "new", "13.0")
    done = subprocess.run(["cmake", f"-DTROUPE_NVCC={old}", "-P", FINDER], env={**os.environ, "CUDA_HOME": str(new.parents[1])},
                          capture_output=True, text=True)
    assert done.returncode != 0
    assert "is of CUDA 11.8, older than 12.8" in " ".join(done.stderr.split())
