#!/bin/sh
# usage: scripts/require.sh TOOL…
# Makes sure that the tools are there: it names the packages that are missing and stops, or, with
# TASKHOLD_MISSING=install, installs them as root on Debian. A tool is the name of a command, "cc-headers" for the C library's headers,
# "python3-venv" for Python's own virtual environments, or "postgres" for PostgreSQL's server, which is on no path.
set -eu

present() {
    case $1 in
    python3-venv) "${PYTHON:-python3}" -c 'import ensurepip, venv' 2>/dev/null ;;
    postgres) ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 ;;
    cc-headers) echo '#include <stdio.h>' | gcc -fsyntax-only -x c - 2>/dev/null ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
    esac
}

package() {
    case $1 in
    cc-headers) echo libc6-dev ;;
    nm | objcopy | readelf) echo binutils ;;
    mvn) echo maven ;;
    javac) echo default-jdk-headless ;;
    abidiff) echo abigail-tools ;;
    node) echo nodejs ;;
    postgres) echo postgresql ;;
    *) echo "$1" ;;
    esac
}

missing=
for tool in "$@"; do
    present "$tool" || missing="$missing $(package "$tool")"
done
[ -n "$missing" ] || exit 0

if [ "${TASKHOLD_MISSING:-}" != install ] || [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "Missing on this machine:$missing" >&2
    echo "On Debian or Ubuntu: sudo apt-get install$missing" >&2
    exit 1
fi
echo "Installing$missing"
apt-get update -qq
# $missing is a list of words on purpose.
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
for tool in "$@"; do
    present "$tool" || { echo "$tool is still missing after the installation" >&2; exit 1; }
done
