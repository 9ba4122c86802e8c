# SPDX-License-Identifier: MIT
"""Tune kernels in place on this machine's accelerator and keep what was printed and logged.

usage: contextual_run.py RESULT.json

The documents' example, and the device tests of contextual tuning: two kernels and a copy between
them, one kernel with two shapes, restore_value and reset_to_zero, each compared with torch in every
pass.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
import tempfile
from pathlib import Path

from first_run import EXAMPLES, ROOT, describe_machine, run

TESTS = ROOT / "tests" / "python" / "test_contextual_cuda.py"


def main() -> None:
    """Run example and tests in a folder of their own."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    target = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        environment = {"TRITON_CACHE_DIR": str(Path(folder) / "triton")}
        example = run([str(EXAMPLES / "contextual_scale.py")], environment)
        log = (Path(folder) / ".autotune_logs" / "rank-0.log").read_text().splitlines()
        tests = run(
            ["-m", "pytest", "-vv", "-rs", "--no-header", "--disable-warnings", str(TESTS)],
            environment,
        )
        result = {
            "what": "kernels tuned in place: the documents' example, and tests against torch",
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "machine": describe_machine(),
            "example": {**example, "log": log},
            "tests": tests,
        }
    target.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
