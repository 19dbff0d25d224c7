"""kernels/cuda/compile_device_code.py, with a stand-in for nvcc that says what ptxas would; and with the real one, where there
is one, the kernel that is nearest to its registers for a device that the default build has no code of its own for."""
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAID = """ptxas info    : Compiling entry function '_ZN6troupe4normIfLi8EEEvPT_' for 'sm_{architecture}'
ptxas info    : Function properties for _ZN6troupe4normIfLi8EEEvPT_
    16 bytes stack frame, {spills} bytes spill stores, 4 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 64 bytes smem, 384 bytes cmem[0]
"""


def compile_saying(tmp_path, text, code=0, options=()):
    report = tmp_path / "x.resources"
    command = [sys.executable, "-c", "import sys; print(sys.argv[1]); sys.exit(int(sys.argv[2]))", text, str(code)]
    script = ROOT / "kernels/cuda/compile_device_code.py"
    done = subprocess.run([sys.executable, script, *options, report, *command], capture_output=True, text=True)
    return done, report.read_text() if report.exists() else None


def test_registers_and_static_shared_memory_are_told_for_each_architecture(tmp_path):
    text = "".join(SAID.format(architecture=a, spills=0).replace("4 bytes spill", "0 bytes spill") for a in (90, 100))
    done, report = compile_saying(tmp_path, text)
    assert done.returncode == 0, done.stderr
    assert report == ("norm<float, 8>: sm_90: 40 registers, 64 bytes static shared, 16 bytes stack; "
                      "sm_100: 40 registers, 64 bytes static shared, 16 bytes stack\n")


def test_spills_fail(tmp_path):
    done, _ = compile_saying(tmp_path, SAID.format(architecture=90, spills=8))
    assert done.returncode != 0
    assert "norm<float, 8>: sm_90: 40 registers, 64 bytes static shared, 16 bytes stack, SPILLS 12 bytes" in done.stderr


def test_spills_of_a_function_that_a_kernel_calls_fail_too(tmp_path):
    called = "ptxas info    : Function properties for _ZN6troupe4calleeEv\n    64 bytes stack frame, 32 bytes spill stores, 4 bytes spill loads\n"
    clean = SAID.format(architecture=90, spills=0).replace("4 bytes spill", "0 bytes spill")
    for text in (clean + called, clean.replace("ptxas info    : Used", called + "ptxas info    : Used"),
                 SAID.format(architecture=90, spills=32) + called.replace("32 bytes spill", "0 bytes spill").replace("4 bytes spill", "0 bytes spill")):
        done, _ = compile_saying(tmp_path, text)
        assert done.returncode != 0
        assert "SPILLS 36 bytes" in done.stderr


def test_where_kernels_may_spill_it_is_told_alone(tmp_path):
    done, report = compile_saying(tmp_path, SAID.format(architecture=90, spills=8), options=("--may-spill",))
    assert done.returncode == 0, done.stderr
    assert "SPILLS 12 bytes" in report


def test_an_error_of_the_compiler_and_a_file_without_kernels_fail(tmp_path):
    done, report = compile_saying(tmp_path, "x.cu(1): error: what is this", 2)
    assert done.returncode != 0 and "what is this" in done.stderr and report is None
    assert compile_saying(tmp_path, "nothing")[0].returncode != 0


def test_the_kernel_with_the_fewest_registers_to_spare_spills_none_on_newer_devices(tmp_path):
    asked = subprocess.run(["cmake", "-P", ROOT / "cmake/cuda_toolkit.cmake"], capture_output=True, text=True)
    if asked.returncode != 0:
        pytest.skip("no CUDA toolkit")
    nvcc = asked.stdout.strip() or asked.stderr.strip()
    report = tmp_path / "few_row_product.resources"
    done = subprocess.run([sys.executable, ROOT / "kernels/cuda/compile_device_code.py", report, nvcc, "-std=c++20", "-O3", f"-I{ROOT}",
                           "-Xptxas", "-v", "-DTROUPE_KERNELS_WAIT", "-gencode", "arch=compute_120,code=sm_120",
                           "-c", ROOT / "kernels/cuda/products/few_row_product.cu", "-o", tmp_path / "few_row_product.o"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "few_row_stream_kernel<__nv_bfloat16, 2, 0>: sm_120: " in report.read_text()
