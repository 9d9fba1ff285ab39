#!/bin/sh
# make_venv.sh FOLDER LOCK [PACKAGE]: a virtual environment with exactly what LOCK lists, hashes checked; or with PACKAGE of
# it alone, which must need no other.
#
# Python is $PYTHON, or the first of python3, python3.11 ... python3.14 that is >= 3.11 and can make
# virtual environments. Nothing is installed outside FOLDER.
set -eu

folder=$1
lock=$2
package=${3:-}

usable() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

say_how_to_get_python() {
    cat >&2 <<'TEXT'
error: no Python >= 3.11 with the modules venv and ensurepip was found
hint: install one, then run this again:
    Debian, Ubuntu    sudo apt-get install python3 python3-venv
    Fedora            sudo dnf install python3
    macOS             brew install python
    or set PYTHON to its path: make setup PYTHON=/path/to/python3.11
TEXT
}

# An environment whose interpreter has gone, or is too old, is made anew.
if [ -x "$folder/bin/python" ] && usable "$folder/bin/python"; then
    :
else
    python=
    for candidate in ${PYTHON:-python3 python3.11 python3.12 python3.13 python3.14}; do
        if usable "$candidate"; then
            python=$candidate
            break
        fi
    done
    if [ -z "$python" ]; then
        say_how_to_get_python
        exit 1
    fi
    echo "making $folder with $("$python" --version) ($python)"
    "$python" -m venv --clear "$folder"
fi

if [ -n "$package" ]; then
    # A requirement goes on as long as its lines end with a backslash.
    awk -v start="$package==" 'index($0, start) == 1 { inside = 1 } inside { print } !/\\$/ { inside = 0 }' "$lock" >"$folder/$package.lock"
    lock=$folder/$package.lock
fi
echo "installing $lock into $folder"
# Modules are compiled when they are first imported: most never are, and compiling all takes half a minute.
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
    --no-compile --require-hashes -r "$lock"
