#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the Debian or Ubuntu packages that a target needs and this machine lacks.
# usage: prerequisites.sh build|test
# Quick and silent where nothing is missing. Without root or sudo it prints the one command to run.
set -eu

has_command() { command -v "$1" >/dev/null 2>&1; }
has_library() { has_command pkg-config && pkg-config --exists "$1"; }
# A wrapper alone is not enough: openmpi-bin brings mpicc without the headers that it needs.
has_mpi_headers() { has_command mpicc && echo '#include <mpi.h>' | mpicc -E -x c - >/dev/null 2>&1; }
has_python() {
  has_command python3 && python3 - <<'PYTHON' 2>/dev/null
import ensurepip, os, sys, sysconfig, venv
header = os.path.join(sysconfig.get_path("include"), "Python.h")
sys.exit(0 if sys.version_info >= (3, 10) and os.path.exists(header) else 1)
PYTHON
}

missing=""
need() { missing="$missing $*"; }

has_command gcc && has_command cc || need gcc libc6-dev
has_command make || need make
has_command pkg-config || need pkg-config
has_library jansson || need libjansson-dev
has_library libxxhash || need libxxhash-dev
has_python || need python3 python3-venv python3-dev
if [ "${1:-build}" = test ]; then
  has_library cmocka || need libcmocka-dev
  has_command clang || need clang
  has_command valgrind || need valgrind
  has_command g++ || need g++ # the headers are compiled as C++ too
  # Launchers and libraries of two MPIs, and the headers of one, which an example is compiled with.
  has_command ompi_info || need openmpi-bin
  has_mpi_headers || need libopenmpi-dev
  has_command mpiexec.hydra || need mpich
fi
[ -n "$missing" ] || exit 0

# shellcheck disable=SC2086 # the names are words on purpose
set -- $missing
if ! has_command apt-get; then
  echo "these packages are missing and this is no Debian or Ubuntu machine; install:$missing" >&2
  exit 1
fi
if [ "$(id -u)" = 0 ]; then
  as_root=""
elif has_command sudo && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
  as_root="sudo"
else
  echo "some packages are missing and this user cannot install them; first run, as root:" >&2
  echo "    apt-get update && apt-get install -y --no-install-recommends $*" >&2
  exit 1
fi
echo "installing:$missing"
$as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
