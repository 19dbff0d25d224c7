"""Another project that adds this one as a folder of its own."""
import json
import pathlib
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PARENT = f"""cmake_minimum_required(VERSION 3.25)
project(mine LANGUAGES CXX)
add_subdirectory("{SOURCE}" troupe EXCLUDE_FROM_ALL)
add_executable(mine main.cpp)
target_link_libraries(mine PRIVATE troupe_setup CAF::io)
"""


def configure(folder, *definitions):
    (folder / "CMakeLists.txt").write_text(PARENT)
    (folder / "main.cpp").write_text("int main() {}\n")
    command = ["cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", "-DTROUPE_CUDA=OFF", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    return subprocess.run([*command, *definitions], capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parent")
    done = configure(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    every = json.loads((folder / "build" / "compile_commands.json").read_text())
    return folder, {pathlib.Path(each["file"]): each["command"] for each in every}


def test_it_gets_neither_tests_nor_warnings(commands):
    folder, of = commands
    mine = of[folder / "main.cpp"]
    assert f"-I{SOURCE}" in mine and "-std=c++20" in mine.replace("gnu++", "c++") and " -W" not in mine and " -f" not in mine
    assert all(" -w " in command and "-ffp-contract=off -fno-math-errno" in command for file, command in of.items() if SOURCE in file.parents)
    assert not any("/tests/" in str(file) or "_bench" in file.name for file in of)


def test_it_gets_the_settings_but_not_the_services_program(commands):
    folder, _ = commands
    targets = subprocess.run(["ninja", "-C", folder / "build", "-t", "targets", "all"], capture_output=True, text=True, check=True).stdout
    assert "libtroupe_setup.a:" in targets and "troupe_main.dir" not in targets
    assert "systemd_LIBRARIES" not in (folder / "build" / "CMakeCache.txt").read_text()


def test_a_caf_whose_messages_are_others_is_refused(tmp_path):
    include = tmp_path / "include" / "caf"
    include.mkdir(parents=True)
    (include / "config.hpp").write_text("#define CAF_VERSION 1805\n")
    (include / "all.hpp").write_text("")
    done = configure(tmp_path, f"-DCAF_INCLUDE_DIR={include.parent}")
    assert done.returncode != 0 and "0.18.5" in done.stderr and "0.17.6" in done.stderr
