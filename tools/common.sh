# SPDX-License-Identifier: BSL-1.0
# Sourced by the other tools: what has to be there, how it gets there on Debian, and how a build is configured.

say() { printf '%s\n' "$*"; }
fail() { printf '%s\n' "$*" >&2; exit 1; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif ! command -v sudo >/dev/null; then fail "This needs root or sudo: $*"
  elif [ -t 0 ]; then sudo "$@"
  else sudo -n "$@"
  fi
}

missing=()
# need PACKAGE COMMAND...: remember the package unless the command succeeds.
need() {
  local package=$1
  shift
  "$@" >/dev/null 2>&1 </dev/null || missing+=("$package")
}

has_header() { printf '#include <%s>\n' "$1" | "${2:-g++}" -fsyntax-only -x c++ -; }
links_sanitizers() {
  local scratch result=0
  scratch=$(mktemp -d)
  echo 'int main() {}' | "$1" -fsanitize=address,undefined -x c++ - -o "$scratch/a" || result=1
  rm -r "$scratch"
  return $result
}

need_build_tools() {
  need g++ command -v g++
  need python3 command -v python3
  need meson command -v meson
  need ninja-build command -v ninja
  need libboost-dev has_header boost/hana.hpp
}

need_compiler() {
  case $1 in
    clang++-*)
      need "clang-${1#clang++-}" command -v "$1"
      need "libclang-rt-${1#clang++-}-dev" links_sanitizers "$1" ;;
    g++-*) need "$1" command -v "$1" ;;
    clang++) need clang command -v clang++ ;;
  esac
}

# Install what the calls of need found missing; asks for nothing.
install_missing() {
  [ ${#missing[@]} -gt 0 ] || return 0
  command -v apt-get >/dev/null ||
    fail "Missing here, by the names of their Debian packages: ${missing[*]}. There is no apt-get; please install them."
  say "== installing from Debian: ${missing[*]}"
  as_root apt-get -qq -o DPkg::Lock::Timeout=300 update || say "   (the lists of packages could not be refreshed)"
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq -y --no-install-recommends -o DPkg::Lock::Timeout=300 install "${missing[@]}" </dev/null >/dev/null ||
    fail "Installing failed: ${missing[*]}"
  missing=()
}

# configure FOLDER COMPILER OPTION...: when there is nothing yet, or when the options or the files have changed since.
configure() {
  local build=$1 compiler=$2 setting
  shift 2
  setting=$(printf '%s\n' "$@"; find include tests examples bench -name '*.[ch]pp' | LC_ALL=C sort)
  if [ ! -f "$build/build.ninja" ]; then
    say "== $build: configure"
    CXX=$compiler meson setup "$build" "$@"
  elif [ "$setting" != "$(cat "$build/setting" 2>/dev/null)" ]; then
    say "== $build: configure again"
    meson setup --reconfigure "$build" "$@"
  fi
  printf '%s\n' "$setting" >"$build/setting"
}
