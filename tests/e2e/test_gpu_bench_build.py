"""The program that tests/bench/gpu.py measures: built, refused, packed and with its libraries; with stand-ins for what builds it."""
import json
import os

import pytest
from gpu_stand_ins import SELF_TEST, asked, bench_with, program, stand_ins

import gpu_build
import gpu_process

CMAKE = """
echo "$@" >> {tools}/cmake_asked
if [ "$1" = --build ]; then
  echo "[1/2] Compiling kernels"
  {building}
  mkdir -p "$2/kernels/cuda"
  echo "silu: sm_90: 32 registers" > "$2/kernels/cuda/device_code.txt"
  cp {tools}/troupe "$2/troupe"
else
  mkdir -p "$4"
  {configuring}
fi
"""


def builds(tools, building=":", configuring=":"):
    program(tools / "ninja", "")
    program(tools / "cmake", CMAKE.format(tools=tools, building=building, configuring=configuring))


def test_a_program_is_built_for_this_machine_s_devices_and_measured(tmp_path):
    tools = stand_ins(tmp_path)
    builds(tools)
    program(tools / "nvidia-smi", 'echo "Some GPU, 580.1, 81559 MiB, 9.0"\necho "Big GPU, 580.1, 81559 MiB, 10.0"\necho "Some GPU, 580.1, 81559 MiB, 9.0"\n')
    done, data = bench_with(tools, "--rounds", "1", "build", "smollm-135m-q4", program=None)
    assert done.returncode == 0, done.stderr
    configured, built = asked(tools, "cmake_asked")
    assert f"-B {tmp_path}/out/build " in configured and "-DTROUPE_CUDA_ARCHITECTURES=90;100" in configured
    assert "-DTROUPE_CUDA_MAY_SPILL=ON" in configured
    assert built.startswith(f"--build {tmp_path}/out/build ")
    assert "silu: sm_90: 32 registers" in done.stderr
    assert data["device_code"] == ["silu: sm_90: 32 registers"]
    assert "[1/2] Compiling kernels" in (tmp_path / "out" / "build.log").read_text()
    assert len(asked(tools)) == 1


def test_what_the_kernels_take_of_a_device_is_kept_when_another_is_measured(tmp_path):
    tools = stand_ins(tmp_path)
    builds(tools)
    program(tools / "troupe", f"cat {tools}/answer\n")
    for name in ("Some", "Other"):  # of two devices, which only the self-test tells
        (tools / "answer").write_text(json.dumps(SELF_TEST).replace("Some GPU", f"{name} GPU"))
        done, data = bench_with(tools, "--rounds", "1", "--fresh", "build", "smollm-135m-q4", program=None)
        assert data["machine"]["device"] == f"{name} GPU"
        assert data["device_code"] == ["silu: sm_90: 32 registers"]


def test_after_a_failed_build_nothing_is_measured_until_one_succeeds(tmp_path):
    tools = stand_ins(tmp_path)
    builds(tools)
    bench_with(tools, "build", program=None)
    builds(tools, building='echo "x.cu(3): error: no such thing"; echo "ninja: build stopped"; exit 1')
    for parts in (["build", "smollm-135m-q4"], ["smollm-135m-q4"]):
        done, data = bench_with(tools, "--rounds", "1", *parts, program=None)
        assert done.returncode == (1 if "build" in parts else 3)
        assert "NOTHING IS MEASURED" in done.stderr
        assert "x.cu(3): error: no such thing" in data["problems"]["build"]["build"]
        assert not asked(tools)
    done, data = bench_with(tools, "--rounds", "1", "smollm-135m-q4")  # a program that is named
    assert done.returncode == 0 and data["problems"] == {}
    builds(tools)
    done, data = bench_with(tools, "--rounds", "1", "build", "smollm-135m-q4", program=None)
    assert done.returncode == 0, done.stderr


def test_after_a_build_for_which_no_time_was_left_nothing_is_measured(tmp_path):
    tools = stand_ins(tmp_path)
    builds(tools)
    bench_with(tools, "build", program=None)
    done, data = bench_with(tools, "--seconds", "300", "build", "smollm-135m-q4", program=None)
    assert done.returncode == 3
    assert data["problems"]["build"]["build"].startswith("left out")
    assert not asked(tools)


def test_what_a_toolkit_lacks_is_named_before_the_build(tmp_path):
    tools = stand_ins(tmp_path)
    cache = "TROUPE_FOUND_NVCC:INTERNAL=/nvcc\\nTROUPE_CUDART:FILEPATH=TROUPE_CUDART-NOTFOUND\\nTROUPE_CUBLAS_HEADERS:PATH=TROUPE_CUBLAS_HEADERS-NOTFOUND\\n"
    builds(tools, configuring=f'printf "{cache}" > "$4/CMakeCache.txt"; echo "-- CUDA: headers from /somewhere"; exit 1')
    done, data = bench_with(tools, "build", program=None)
    assert done.returncode == 3
    assert data["problems"]["build"]["build"].startswith("missing: cudart_static, cublasLt.h of a CUDA toolkit")
    assert "headers from /somewhere" in data["problems"]["build"]["build"]
    assert len(asked(tools, "cmake_asked")) == 1
    builds(tools, configuring='printf "TROUPE_FOUND_NVCC:INTERNAL=TROUPE_FOUND_NVCC-NOTFOUND\\n" > "$4/CMakeCache.txt"; exit 1')
    done, data = bench_with(tools, "build", program=None)
    assert data["problems"]["build"]["build"].startswith("missing: nvcc of a CUDA toolkit")


@pytest.mark.parametrize("refusal, told", [
    ("nvcc does not go with TROUPE_SANITIZE", "missing: a CUDA toolkit, 12.8 or newer (TROUPE_CUDA is ON, but nvcc does not go with TROUPE_SANITIZE);"),
    ("the\n  toolkit of /nvcc has no cublasLt.h", "missing: a CUDA toolkit, 12.8 or newer (TROUPE_CUDA is ON, but the toolkit of /nvcc has no cublasLt.h);")])
def test_what_cmake_has_not_looked_for_is_not_lacking(tmp_path, refusal, told):
    tools = stand_ins(tmp_path)
    (tools / "refusal").write_text(f"-- CUDA: headers from /somewhere\nCMake Error at CMakeLists.txt:65 (message):\n  TROUPE_CUDA is ON, but {refusal}\n\n\n"
                                   "-- Configuring incomplete, errors occurred!\n")
    builds(tools, configuring=f'echo "TROUPE_FOUND_NVCC:INTERNAL=/nvcc" > "$4/CMakeCache.txt"; cat {tools}/refusal; exit 1')
    done, data = bench_with(tools, "build", program=None)
    assert done.returncode == 3
    assert data["problems"]["build"]["build"].startswith(told)
    builds(tools, configuring='echo "TROUPE_FOUND_NVCC:INTERNAL=/nvcc" > "$4/CMakeCache.txt"; echo "CMake Error: no sqlite"; exit 1')
    done, data = bench_with(tools, "build", program=None)
    assert "CMake Error: no sqlite" in data["problems"]["build"]["build"]


def test_a_build_tells_now_and_then_how_far_it_is(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(gpu_build, "BETWEEN_STEPS", 0.0)
    log = gpu_build.Log(tmp_path / "build.log")
    for line in ("[1/9] Compiling", "a warning"):
        log(line)
    monkeypatch.setattr(gpu_build, "BETWEEN_STEPS", 60.0)
    log("[2/9] Compiling")
    assert (tmp_path / "build.log").read_text() == "[1/9] Compiling\na warning\n[2/9] Compiling\n"
    told = capfd.readouterr().err
    assert "[1/9]" in told and "warning" not in told and "[2/9]" not in told


def test_libraries_are_those_of_the_python_that_has_torch(tmp_path):
    libraries = tmp_path / "packages" / "nvidia" / "cu13" / "lib"
    libraries.mkdir(parents=True)
    asking = program(tmp_path / "python", f"echo\necho {tmp_path}/packages\n")
    places = gpu_build.library_environment(tmp_path / "troupe", asking)["LD_LIBRARY_PATH"].split(":")
    assert str(libraries) in places


def test_only_a_program_that_has_cuda_is_packed(tmp_path, monkeypatch, capfd):
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "libuseful.so.1").touch()
    program(tools / "ldd", f'echo "libuseful.so.1 => {tools}/libuseful.so.1 (0x1)"\necho "libc.so.6 => /lib/libc.so.6 (0x2)"\n')
    program(tools / "strip", "")
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    without = program(tools / "troupe", 'echo "troupe: this program was built without CUDA" >&2\nexit 69\n')
    with pytest.raises(gpu_process.Missing, match="CUDA in"):
        gpu_build.pack(without, tmp_path / "packed")
    assert not (tmp_path / "packed").exists()
    (tools / "CMakeCache.txt").write_text("TROUPE_CUDA_ARCHITECTURES:STRING=80;90;100\n")
    gpu_build.pack(program(tools / "troupe", 'echo "troupe: no model" >&2\nexit 66\n'), tmp_path / "packed")
    assert sorted(each.name for each in (tmp_path / "packed").rglob("*")) == ["lib", "libuseful.so.1", "troupe"]
    assert "compute capabilities: 80;90;100" in capfd.readouterr().out
