#!/bin/sh
# side_by_side.sh COMMAND...: runs commands at the same time, and shows what each printed once it has ended, in their order.
# Fails with the status of the first that failed, after all of them have ended.
set -u

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'trap - TERM; kill 0; exit 130' INT TERM

n=0
for command in "$@"; do
    n=$((n + 1))
    { sh -c "$command" >"$folder/$n.out" 2>&1; echo $? >"$folder/$n.status"; } &
done
wait

failed=0
while [ "$n" -gt 0 ]; do
    set -- "$folder/$n" "$@"
    n=$((n - 1))
done
for job in "$@"; do
    [ -f "$job.out" ] || continue
    cat "$job.out"
    status=$(cat "$job.status" 2>/dev/null || echo 1)
    if [ "$failed" -eq 0 ] && [ "$status" -ne 0 ]; then
        failed=$status
    fi
done
exit "$failed"
