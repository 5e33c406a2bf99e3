"""deploy.explore works in a script that has no guard against being imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import deploy

SCRIPT = """\
import deploy

print("once")
vary = {{"optimize": ["speed", "ram"]}}
found = deploy.explore({model!r}, ["mps2-an386", "nano-33-ble"], vary=vary, jobs=2)
print(len(found.as_json()["results"]))
"""


def test_a_script_is_not_run_again_in_each_process(tmp_path: Path) -> None:
    model = Path(deploy.__file__).parent / "demo" / "digits.tflite"
    script = tmp_path / "look.py"
    script.write_text(SCRIPT.format(model=str(model)))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "once\n4\n"), done.stderr
