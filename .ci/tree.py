"""The tree, for scripts that put faults into a copy of it."""

import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def copy_to(folder):
    """Copies what git tracks, with new times: it is newer than what was built before."""
    names = subprocess.check_output(["git", "-C", ROOT, "ls-files", "-z"], text=True)
    for name in filter(None, names.split("\0")):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)


def replace(folder, file, there, instead, what):
    """Replaces in a file what stands there once, or ends."""
    text = (folder / file).read_text()
    if text.count(there) != 1:
        sys.exit(f"{what}: {file} has {text.count(there)} times: {there.strip()}")
    (folder / file).write_text(text.replace(there, instead))
