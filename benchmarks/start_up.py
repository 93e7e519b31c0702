"""Processor seconds that each script of the workflow takes to import what it uses.

    python benchmarks/start_up.py

A script that runs numba's kernels may take 2.0 s, any other 1.2 s: a run has more than a hundred.
Each import is done twice in a process of its own, and the second is shown: the first may have to
compile to bytecode.
"""

import ast
import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1] / "workflow/scripts"
LIMIT, LIMIT_WITH_NUMBA = 1.2, 2.0
REPORT = """
import resource, sys
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime, "numba" in sys.modules)
"""


def imports_of(script: Path) -> str:
    """Return the import statements of a script, without what is for type checkers."""
    tree = ast.parse(script.read_text())
    statements = [n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
    return "\n".join(map(ast.unparse, statements))


def main() -> int:
    rows = []
    for script in sorted(SCRIPTS.rglob("*.py")):
        command = [sys.executable, "-c", imports_of(script) + REPORT]
        for _ in range(2):
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        seconds, with_numba = done.stdout.split()
        limit = LIMIT_WITH_NUMBA if with_numba == "True" else LIMIT
        rows.append((float(seconds), limit, script.relative_to(SCRIPTS)))
    print("seconds  limit  script")
    for seconds, limit, script in sorted(rows, reverse=True):
        print(f"{seconds:7.2f} {limit:6.1f}  {script}{'  TOO SLOW' if seconds > limit else ''}")
    return int(any(seconds > limit for seconds, limit, _ in rows))


if __name__ == "__main__":
    sys.exit(main())
