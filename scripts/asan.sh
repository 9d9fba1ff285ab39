#!/bin/sh
# asan.sh: runs the tests of all unsafe code under AddressSanitizer: the crates', and through Python those of the module
# that reads what Python and Arrow own.
#
# The compiler is the stable one, asked with RUSTC_BOOTSTRAP=1 as in fuzz.sh; what is built lies apart from the rest. The
# interpreter is an ordinary one: the sanitizer is loaded before it, and it takes its memory from the sanitizer.
set -eu

cd "$(dirname "$0")/.."
python=${PYTHON:-$PWD/.venv/bin/python}

host=$(rustc -vV | sed -n 's/^host: //p')
case $host in
*-linux-gnu) ;;
*)
    echo "error: the sanitizer's tests run on Linux with glibc; this is $host" >&2
    exit 2
    ;;
esac
runtime=$(cc -print-file-name=libasan.so)
if ! [ -f "$runtime" ]; then
    echo "error: the C compiler has no libasan.so" >&2
    echo "hint: apt-get install gcc" >&2
    exit 2
fi

# Nothing of the user's may come between; `--target` keeps the flags from build scripts and procedural macros.
unset PYTHONPATH PYTHONHOME
export RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address" CARGO_PROFILE_DEV_DEBUG=line-tables-only
export CARGO_TARGET_DIR="$PWD/target/asan" PYO3_PYTHON="$python"
# What lives as long as the process counts as leaked, and the check hangs where ptrace is not allowed (containers).
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=0}"

cargo test --target "$host" --locked --quiet -p jeton-core -p jeton-measure -p jeton-train --lib

cargo build --target "$host" --locked --quiet -p jeton-py
package=build/asan/python
rm -rf build/asan
mkdir -p "$package"
cp -R python/jeton "$package/jeton"
rm -f "$package"/jeton/_core.*.so
cp "$CARGO_TARGET_DIR/$host/debug/lib_core.so" "$package/jeton/_core.so"

# Python's own small blocks would hide where an object ends.
export PYTHONPATH="$PWD/$package" PYTHONMALLOC=malloc PYTHONDONTWRITEBYTECODE=1
LD_PRELOAD="$runtime" "$python" - <<'PYTHON'
# What is tested must be what was built with the sanitizer, and the sanitizer must be there.
import ctypes
from pathlib import Path

import jeton._core as core

has_checks = b"__asan_report_load" in Path(core.__file__).read_bytes()
if not has_checks or not hasattr(ctypes.CDLL(None), "__asan_init"):
    raise SystemExit(f"error: no sanitizer watches {core.__file__}")
PYTHON
LD_PRELOAD="$runtime" "$python" -m pytest -q \
    tests/core/test_boundary.py tests/core/test_text_batch.py tests/core/test_arguments.py \
    tests/core/test_encode_decode.py tests/core/test_simd.py
