"""Which CUDA toolkit cmake/cuda_toolkit.cmake takes of those that are there: nvcc is a script here."""
import os
import pathlib
import subprocess

import pytest
from gpu_stand_ins import program

ROOT = pathlib.Path(__file__).resolve().parents[2]
FINDER = ROOT / "cmake/cuda_toolkit.cmake"
# What a toolkit without one of its parts lacks.
ALL_OF_IT = """
include({finder})
troupe_find_cuda()
message(STATUS "found ${{TROUPE_FOUND_NVCC}} with ${{TROUPE_CUDART}} and ${{TROUPE_CUBLAS_HEADERS}}")
message(STATUS "lacks '${{TROUPE_CUDA_LACKS}}'")
"""


def headers(folder, release):
    major, minor = map(int, release.split("."))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cuda_bf16.h").touch()
    (folder / "cuda_runtime_api.h").write_text(f"#define CUDART_VERSION  {1000 * major + 10 * minor}\n")


def toolkit(folder, release, include="include", told_folder=None):
    """An nvcc of this release. `include`: where its headers are below the folder; none: nowhere. `told_folder`: what --dryrun names."""
    (folder / "bin").mkdir(parents=True)
    told = f'echo \'#$ INCLUDES="-I{told_folder}" \' >&2' if told_folder else "true"
    nvcc = program(folder / "bin/nvcc", f'case "$1" in --version) echo "Cuda compilation tools, release {release}, V{release}.1";; *) {told};; esac\n')
    if include:
        headers(folder / include, release)
    return nvcc


def cmake(*words, path="", **environment):
    clean = {name: value for name, value in os.environ.items() if name not in ("CUDA_HOME", "CUDA_PATH")}
    return subprocess.run(["cmake", *words], env={**clean, **environment, "PATH": f"{path}:/usr/bin:/bin"}, capture_output=True, text=True)


def found(path, *flags, **environment):
    """The nvcc that is taken, or why none is."""
    done = cmake(*flags, "-P", FINDER, path=path, **environment)
    return done.stdout.strip() if done.returncode == 0 else " ".join(done.stderr.split())


def test_the_first_that_is_new_enough_is_taken(tmp_path):
    old, new, newer = (toolkit(tmp_path / release, release) for release in ("11.8", "12.8", "13.5"))
    assert found(new.parent, CUDA_HOME=str(newer.parents[1])) == str(newer)
    assert found(new.parent, CUDA_HOME=str(old.parents[1])) == str(new), "an old one hides none behind it"
    assert found(f"{old.parent}:{newer.parent}") == str(newer)


@pytest.mark.parametrize("include, told", [("targets/x86_64-linux/include", False), (None, True)], ids=["in targets/", "where --dryrun says"])
def test_headers_are_found_where_nvcc_has_them(tmp_path, include, told):
    elsewhere = tmp_path / "else where/include"
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
    assert f"({old} is of CUDA 11.8)" in found(new.parent, f"-DTROUPE_NVCC={old}")


# In a project of its own: a second run has the cache of the first.
def test_all_parts_are_of_one_toolkit_and_what_it_lacks_is_told(tmp_path):
    old, whole, bare = toolkit(tmp_path / "old", "11.8"), toolkit(tmp_path / "whole", "13.0"), toolkit(tmp_path / "bare", "13.0")
    for part in ("lib64/libcudart_static.a", "include/cublasLt.h"):
        (tmp_path / "whole" / part).parent.mkdir(exist_ok=True)
        (tmp_path / "whole" / part).touch()
    (tmp_path / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(finding NONE)\n" + ALL_OF_IT.format(finder=FINDER))

    def configured(path, *flags):
        return cmake("-S", tmp_path, "-B", tmp_path / "build", *flags, path=path).stdout

    taken = f"found {whole} with {tmp_path}/whole/lib64/libcudart_static.a and {tmp_path}/whole/include"
    first = configured(f"{old.parent}:{whole.parent}")
    assert taken in first and "lacks ''" in first, "an old one in front of it is nothing that it lacks"
    assert f"lacks 'the toolkit of {bare} has no cudart_static'" in configured(bare.parent), "nothing is left of the first"
    for _ in range(2):
        assert f"({old} is of CUDA 11.8)" in configured(whole.parent, f"-DTROUPE_NVCC={old}"), "it stays the one that was named"
    assert taken in configured(whole.parent, "-DTROUPE_NVCC=")
