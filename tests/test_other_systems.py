"""What Windows does not have is not asked for when a module is imported."""

import subprocess
import sys

# Modules of the standard library that are only on Unix (docs.python.org, "Availability: Unix").
UNIX_ONLY = ("fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty")
# Other packages may ask for them, because on Windows they ask for something else; ours may not.
IMPORT_ALL = f"""
import builtins, importlib, pkgutil

asked = builtins.__import__

def refuse(name, globals=None, locals=None, fromlist=(), level=0):
    asks = (globals or {{}}).get("__name__", "")
    if level == 0 and name.partition(".")[0] in {UNIX_ONLY} and asks.partition(".")[0] == "overread":
        refused.append(f"{{asks}}: {{name}}")
        raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
    return asked(name, globals, locals, fromlist, level)

refused = []
builtins.__import__ = refuse
import overread

names = [found.name for found in pkgutil.walk_packages(overread.__path__, "overread.")]
for name in names:
    importlib.import_module(name)
from overread.files._journal import fcntl
assert fcntl is None
print(len(names), *refused)
"""


def test_every_module_is_imported_without_what_only_unix_has():
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr[-2000:]
    number, *refused = done.stdout.split(" ", 1)
    assert int(number) > 300
    # The one place that asks, and does without.
    assert "".join(refused).strip() == "overread.files._journal: fcntl"
