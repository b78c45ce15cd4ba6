#!/usr/bin/env bash
# Fuzzes every target outside test, two at a time, each for $1 (a Go duration). What fails is written
# to the package's testdata and fails. GO is the go command.
set -euo pipefail
cd "$(dirname "$0")/.."
export GO=${GO:-go} FUZZTIME=$1 PROGRAMS
PROGRAMS=$(mktemp -d)
trap 'rm -rf "$PROGRAMS"' EXIT
# What go test -fuzz itself keeps of earlier runs.
export CORPUS
CORPUS=$($GO env GOCACHE)/fuzz

# A package is built once for all its targets.
build() { $GO test -vet=off -c -fuzz . -o "$PROGRAMS/${1//\//-}" "./$1"; }

one() {
	local package=$1 target=$2 log path
	log=$(mktemp)
	path=$($GO list "./$package")
	# Where time runs out in the middle of an input, Go may call that a failure ("context deadline
	# exceeded") and name no input: that is tried once more.
	for attempt in 1 2; do
		if (cd "$package" && "$PROGRAMS/${package//\//-}" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$FUZZTIME" \
			-test.fuzzcachedir "$CORPUS/$path" -test.parallel 1) >"$log" 2>&1; then
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
export -f build one

targets=$(grep -r --include='*_test.go' '^func Fuzz' activities api cmd dev internal workflows |
	sed 's|^\(.*\)/[^/]*:func \(Fuzz[A-Za-z0-9]*\).*|\1 \2|' | sort)
cut -d ' ' -f 1 <<<"$targets" | uniq | xargs -P 2 -L 1 bash -c 'build "$0"'
xargs -P 2 -L 1 bash -c 'one "$0" "$1"' <<<"$targets"
