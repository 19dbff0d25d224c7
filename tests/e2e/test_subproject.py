"""Another project that adds this one as a folder of its own."""
import json
import pathlib
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PARENT = f"""cmake_minimum_required(VERSION 3.25)
project(mine LANGUAGES CXX)
add_subdirectory("{SOURCE}" troupe EXCLUDE_FROM_ALL)
add_executable(mine main.cpp)
target_link_libraries(mine PRIVATE troupe_actors)
"""


def test_it_gets_neither_tests_nor_warnings(tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(PARENT)
    (tmp_path / "main.cpp").write_text("int main() {}\n")
    built = tmp_path / "build"
    done = subprocess.run(["cmake", "-S", tmp_path, "-B", built, "-G", "Ninja", "-DTROUPE_CUDA=OFF", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    commands = {pathlib.Path(each["file"]): each["command"] for each in json.loads((built / "compile_commands.json").read_text())}
    mine = commands[tmp_path / "main.cpp"]
    assert f"-I{SOURCE}" in mine and "-std=c++20" in mine.replace("gnu++", "c++") and " -W" not in mine and " -f" not in mine
    assert all(" -w " in command and "-ffp-contract=off -fno-math-errno" in command for file, command in commands.items() if SOURCE in file.parents)
    assert not any("/tests/" in str(file) or "_bench" in file.name for file in commands)
