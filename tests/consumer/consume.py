#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Build and run the small consumer project of this folder in one of the ways in which Cotangent can be had.

usage: consume.py WAY SOURCE_ROOT COMPILER...      WAY: subproject, pkg-config, cmake, bare
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = [HERE / "main.cpp", HERE / "headers.cpp"]
SKIPPED = 77


def run(*command, **environment):
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], check=True, env={**os.environ, **environment})


def meson_project(scratch):
    """The consumer as somebody's Meson project."""
    folder = scratch / "project"
    folder.mkdir()
    for source in SOURCES:
        shutil.copy(source, folder)
    shutil.copy(HERE / "project.meson.build", folder / "meson.build")
    return folder


def install(root, scratch):
    prefix = scratch / "prefix"
    run("meson", "setup", scratch / "library", root, f"--prefix={prefix}", "-Dtests=", "-Dexamples=false")
    run("meson", "install", "-C", scratch / "library", "--quiet")
    if missing := headers(root / "include") - headers(prefix / "include"):
        raise SystemExit(f"not installed: {sorted(missing)}")
    return prefix


def headers(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.hpp")}


def subproject(root, scratch, compiler):
    folder = meson_project(scratch)
    (folder / "subprojects").mkdir()
    (folder / "subprojects" / "cotangent").symlink_to(root)
    run("meson", "setup", scratch / "build", folder, "--wrap-mode=forcefallback")
    run("meson", "test", "-C", scratch / "build", "--print-errorlogs")
    listed = subprocess.run(["meson", "introspect", "--targets", scratch / "build"], check=True,
                            capture_output=True, text=True).stdout
    if listed.count('"defined_in"') != 1:
        raise SystemExit("a subproject must build nothing of its own")


def pkg_config(root, scratch, compiler):
    prefix = install(root, scratch)
    path = {"PKG_CONFIG_PATH": str(prefix / "share" / "pkgconfig")}
    folder = meson_project(scratch)
    run("meson", "setup", scratch / "build", folder, "--wrap-mode=nofallback", **path)
    run("meson", "test", "-C", scratch / "build", "--print-errorlogs")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "cotangent >= 0.1"], check=True, capture_output=True,
                           text=True, env={**os.environ, **path}).stdout.split()
    run(*compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", *SOURCES, *flags, "-o", scratch / "consumer")
    run(scratch / "consumer")


def cmake(root, scratch, compiler):
    # Moved after installation: the package finds its headers relative to itself.
    prefix = install(root, scratch).rename(scratch / "moved")
    run("cmake", "-G", "Ninja", "-S", HERE, "-B", scratch / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", scratch / "build")
    run(scratch / "build" / "consumer")


def bare(root, scratch, compiler):
    run(*compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{root}/include", *SOURCES, "-o",
        scratch / "consumer")
    run(scratch / "consumer")


WAYS = {"subproject": (subproject, "meson"), "pkg-config": (pkg_config, "pkg-config"), "cmake": (cmake, "cmake"),
        "bare": (bare, None)}


def main(way, root, *compiler):
    go, tool = WAYS[way]
    if tool and not shutil.which(tool):
        print(f"skipped: {tool} is not installed")
        return SKIPPED
    os.environ["CXX"] = " ".join(compiler)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            go(pathlib.Path(root), pathlib.Path(scratch), compiler)
        except subprocess.CalledProcessError as failed:
            print(f"consumer, {way}: failed with exit status {failed.returncode}: {failed.cmd}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
