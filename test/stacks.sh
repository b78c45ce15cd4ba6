#!/usr/bin/env bash
# Runs tests of whole stacks, $1 at a time, with the flags of go test after it. Each line of the input is
# a package, with flags of its own where it runs in parts. GO is the go command.
set -euo pipefail
cd "$(dirname "$0")/.."
export GO=${GO:-go}
number=$1
shift
export FLAGS=$*

one() {
	local log
	log=$(mktemp)
	if $GO test $FLAGS "$@" >"$log" 2>&1; then
		# Who looks at the times knows the parts by their flags.
		echo "$(grep '^ok' "$log") ${*:2}"
		rm "$log"
		return
	fi
	cat "$log"
	rm "$log"
	return 1
}
export -f one

packages=$(cat)
if [ -n "$packages" ]; then
	xargs -P "$number" -L 1 bash -c 'one "$@"' one <<<"$packages"
fi
