# SPDX-License-Identifier: Apache-2.0
"""Builds the package: the extension, and kymo itself with its libraries, from the sources above this folder."""
import pathlib
import re
import shutil
import subprocess

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
# In an installation; the program finds its libraries by their place beside it.
PARTS = ["bin/kymo", "lib/kymo/libkymo-preload.so", "lib/kymo/libkymo-preload-alloc.so",
         "lib/libkymo.so.0"]


def version():
    return re.search(r"project\(kymo VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


class build_with_kymo(build_py):
    """Puts kymo into the package, and beside it the file by which interpreters start tracing."""

    def run(self):
        super().run()
        built = pathlib.Path(self.get_finalized_command("build").build_temp).resolve() / "kymo"
        installed = built / "installed"
        subprocess.run(["cmake", "-S", ROOT, "-B", built, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                        "-DCMAKE_C_FLAGS_RELEASE=-O2 -DNDEBUG", "-DKYMO_TESTS=OFF",
                        "-DCMAKE_INSTALL_LIBDIR=lib"], check=True)
        subprocess.run(["cmake", "--build", built, "--target", "src/all", "examples/all"], check=True)
        subprocess.run(["cmake", "--install", built, "--prefix", installed], check=True)
        package = pathlib.Path(self.build_lib) / "kymo"
        for part in PARTS:
            (package / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(installed / part, package / part)
        shutil.copy(HERE / "kymo.pth", self.build_lib)


setup(version=version(),
      packages=["kymo"],
      ext_modules=[Extension("kymo._kymo", sorted(str(p.relative_to(HERE)) for p in (HERE / "src").glob("*.c")),
                             include_dirs=[str(ROOT / "include")],
                             extra_compile_args=["-std=gnu11", "-fvisibility=hidden"])],
      cmdclass={"build_py": build_with_kymo})
