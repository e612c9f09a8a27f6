# SPDX-License-Identifier: Apache-2.0
"""build_extension.py FOLDER - builds kymo/_kymo for the interpreter that runs this, with a C compiler
alone, into FOLDER; prints its path. Does nothing where it is newer than its sources."""
import pathlib
import subprocess
import sys
import sysconfig

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parent / "include"
FLAGS = ["-O2", "-g", "-fPIC", "-shared", "-fvisibility=hidden", "-std=gnu11", "-Wall", "-Wextra",
         "-Werror", "-Wno-missing-field-initializers", "-Wno-cast-function-type"]


def build(folder):
    sources = sorted((HERE / "src").glob("*.c"))
    out = pathlib.Path(folder) / ("_kymo" + sysconfig.get_config_var("EXT_SUFFIX"))
    newest = max(f.stat().st_mtime for f in [*sources, *(HERE / "src").glob("*.h"),
                                             *INCLUDE.glob("kymo/*.h")])
    if not out.exists() or out.stat().st_mtime < newest:
        include = sysconfig.get_paths()["include"]
        out.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", *FLAGS, "-isystem", include, f"-I{INCLUDE}", *sources, "-ldl", "-o", out],
                       check=True)
    return out


if __name__ == "__main__":
    print(build(sys.argv[1]))
