#!/usr/bin/env python3
"""unpack_cuda_headers.py FOLDER TARGET: takes CUDA's headers out of NVIDIA's wheels in FOLDER. The C++ libraries that
one of them also holds (include/cccl) are left: of these only nv/target is used."""
import pathlib
import sys
import zipfile

INCLUDE = "nvidia/cu13/include/"


def main(folder, target):
    wheels = sorted(pathlib.Path(folder).glob("nvidia_cuda_*.whl"))
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                inside = name.removeprefix(INCLUDE)
                if inside == name or inside.startswith("cccl/") or ".." in inside or name.endswith("/"):
                    continue
                place = pathlib.Path(target, inside)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(archive.read(name))
    if not pathlib.Path(target, "cuda_bf16.h").exists():
        sys.exit(f"no headers in {len(wheels)} wheels")


if __name__ == "__main__":
    main(*sys.argv[1:])
