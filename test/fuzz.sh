#!/usr/bin/env bash
# Fuzzes every target outside test/, two at a time, each for $1 (a Go duration). What fails is written
# to the package's testdata and fails. GO is the go command.
set -euo pipefail
cd "$(dirname "$0")/.."
export GO=${GO:-go} FUZZTIME=$1

one() {
	local package=$1 target=$2 log
	log=$(mktemp)
	# Where time runs out in the middle of an input, Go may call that a failure ("context deadline
	# exceeded") and name no input: that is tried once more.
	for attempt in 1 2; do
		if $GO test "./$package" -run '^$' -fuzz "^$target\$" -fuzztime "$FUZZTIME" -parallel 1 >"$log" 2>&1; then
			echo "fuzz $package $target: $(grep -o 'execs: [0-9]*' "$log" | tail -1)"
			rm "$log"
			return
		fi
		if [ "$attempt" = 2 ] || grep -q 'Failing input written' "$log" || ! grep -q 'context deadline exceeded' "$log"; then
			echo "fuzz $package $target: FAILED"
			cat "$log"
			rm "$log"
			return 1
		fi
	done
}
export -f one

grep -r --include='*_test.go' '^func Fuzz' activities api cmd internal workflows |
	sed 's|^\(.*\)/[^/]*:func \(Fuzz[A-Za-z0-9]*\).*|\1 \2|' | sort | xargs -P 2 -L 1 bash -c 'one "$0" "$1"'
