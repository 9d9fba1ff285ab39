#!/bin/sh
# beside.sh QUIET COMMAND...: runs the shell line QUIET behind COMMAND, whose output is seen as it comes; what QUIET printed comes last.
# Fails if either does, after both have ended.
set -u

said=$(mktemp)
trap 'rm -f "$said"' EXIT
sh -c "$1" >"$said" 2>&1 &
behind=$!
shift
# A shell's background work does not hear Ctrl-C.
trap 'kill "$behind" 2>/dev/null; exit 130' INT TERM

status=0
"$@" || status=$?
wait "$behind" || status=$?
cat "$said"
exit "$status"
