#!/bin/sh
# ensure_profiler.sh: the tool that merges what a profiled run noted, which `make wheel` needs; quiet when it is there.
#
# It must be of the compiler's own LLVM, so that it comes with the toolchain or not at all.
set -eu

found() {
    host=$(rustc -vV | sed -n 's/^host: //p')
    [ -x "$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata" ]
}

found && exit 0
if command -v rustup >/dev/null 2>&1; then
    echo "installing llvm-profdata beside the Rust compiler"
    # From the root, the toolchain that a file there may name.
    cd "$(dirname "$0")/.."
    rustup component add llvm-tools >/dev/null 2>&1 || true
    found && exit 0
fi
cat >&2 <<'TEXT'
error: llvm-profdata of the compiler's LLVM was not found: a wheel is compiled by a profile
hint: rustup component add llvm-tools
      or, for a wheel without a profile: .venv/bin/maturin build --release --locked
TEXT
exit 1
