# SPDX-License-Identifier: MIT
"""Run the Triton examples on this machine's accelerator and keep what they print and measured.

usage: first_run.py RESULT.json

Each program runs twice in a store of its own: the first run tunes, the second answers from disk.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples" / "python"


def run(arguments: list[str], environment: dict[str, str]) -> dict[str, Any]:
    """Run one program to its end and return how long it took and what it printed."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-u", *arguments],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(done.stdout, flush=True)
    if done.returncode != 0:
        sys.exit(f"{arguments[0]} ended with {done.returncode}")
    output = re.sub(rf"(\.\./)*/?{re.escape(str(ROOT).lstrip('/'))}/", "", done.stdout)
    return {"seconds": time.perf_counter() - start, "output": output.splitlines()}


def describe_machine() -> dict[str, Any]:
    """Return what was measured with what."""
    import torch
    import triton  # type: ignore[import-untyped]

    return {
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "the CPU",
        "cores": len(os.sched_getaffinity(0)),
        "python": sys.version.split()[0],
        "torch": torch.__version__,
        "triton": triton.__version__,
    }


def main() -> None:
    """Run both examples twice."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            "TRITON_DIST_AUTOTUNE_DIR": str(Path(folder) / "records"),
            "TRITON_CACHE_DIR": str(Path(folder) / "triton"),  # nothing is compiled yet
        }
        figures = Path(folder) / "gemm.json"
        gemm = [str(EXAMPLES / "gemm_triton.py"), "--json", str(figures)]
        scale = [str(EXAMPLES / "scale.py")]
        result = {
            "what": "scale.py and gemm_triton.py, each in two processes one after another",
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "machine": describe_machine(),
            "scale": {"first": run(scale, environment), "second": run(scale, environment)},
            "gemm": {"first": run(gemm, environment)},
        }
        result["gemm"]["figures"] = json.loads(figures.read_text())
        result["gemm"]["second"] = run(gemm, environment)
        result["gemm"]["figures_second"] = {
            name: value
            for name, value in json.loads(figures.read_text()).items()
            if name not in ("record", "machine")
        }
    Path(sys.argv[1]).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
