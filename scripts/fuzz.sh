#!/bin/sh
# fuzz.sh [TARGET] [SECONDS]: builds the fuzz targets under AddressSanitizer and runs one, or each in turn.
#
# The compiler is the stable one: what libFuzzer needs of it (sanitizer, coverage) is asked for with
# RUSTC_BOOTSTRAP=1, in a target folder of its own. Corpora grow in fuzz/corpus/TARGET (not committed); what breaks
# a target is stored in fuzz/regressions/TARGET (committed: `cargo test` replays every file there).
set -eu

cd "$(dirname "$0")/.."
targets=${1:-$(sed -n 's/^name = "\([a-z_0-9]*\)"$/\1/p' fuzz/Cargo.toml)}
seconds=${2:-600}

host=$(rustc -vV | sed -n 's/^host: //p')
case $host in
*-linux-gnu) ;;
*)
    echo "error: the fuzz targets build on Linux with glibc; this is $host" >&2
    exit 2
    ;;
esac

# The flags that cargo-fuzz gives, and a debug build's checks (fuzz/Cargo.toml). `--target` keeps them from build
# scripts and procedural macros.
flags="-Zsanitizer=address -Cpasses=sancov-module --cfg fuzzing"
for argument in \
    sanitizer-coverage-level=4 sanitizer-coverage-inline-8bit-counters sanitizer-coverage-pc-table \
    sanitizer-coverage-trace-compares simplifycfg-branch-fold-threshold=0; do
    case $argument in
    *=*) flags="$flags -Cllvm-args=-$argument" ;;
    *) flags="$flags -Cllvm-args=-$argument=1" ;;
    esac
done
built=fuzz/target/$host/release
RUSTC_BOOTSTRAP=1 RUSTFLAGS="$flags" CARGO_TARGET_DIR=fuzz/target \
    cargo build --manifest-path fuzz/Cargo.toml --target "$host" --release --locked --quiet
cargo run --quiet --locked -p jeton-testing --features harness --example seeds -- fuzz/corpus

# What the core's unsafe code allocates (memory/huge_pages.rs) is freed with its owner, and the leak check hangs where ptrace is not
# allowed (containers).
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=0}"

status=0
for target in $targets; do
    if ! [ -x "$built/$target" ]; then
        echo "error: no fuzz target $target" >&2
        echo "hint: the targets are the names in fuzz/Cargo.toml" >&2
        exit 2
    fi
    mkdir -p "fuzz/corpus/$target" "fuzz/regressions/$target"
    dictionary=fuzz/dictionaries/$target.dict
    # A charsmap comes in blocks of 1 KiB, and SentencePiece models and GGUF may have one; 4 KiB say all of the others.
    max_len=4096
    case $target in charsmap | sentencepiece | gguf) max_len=16384 ;; esac
    set -- -max_total_time="$seconds" -max_len="$max_len" -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=1024 \
        -artifact_prefix="fuzz/regressions/$target/" -print_final_stats=1
    [ ! -f "$dictionary" ] || set -- "$@" -dict="$dictionary"
    echo "$target: $seconds s"
    # A finding does not stop the other targets.
    "$built/$target" "$@" "fuzz/corpus/$target" || status=1
done
exit $status
