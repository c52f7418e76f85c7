# Sourced by shell tests: results as TAP. Leaves the shell in the root of the
# repository, with $scratch a directory that goes away at the end.
# shellcheck shell=sh

cd "$(dirname "$0")/../.." || exit 1
LC_ALL=C
export LC_ALL

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

tap_count=0
tap_failed=0

# A check that sees no file would find no fault.
if [ -z "$(scripts/our-files scripts)" ]; then
	echo 'Bail out! the files of this repository cannot be listed'
	exit 1
fi

ok() {
	tap_count=$((tap_count + 1))
	printf 'ok %d - %s\n' $tap_count "$1"
}

not_ok() {
	tap_count=$((tap_count + 1))
	tap_failed=$((tap_failed + 1))
	printf 'not ok %d - %s\n' $tap_count "$1"
}

# verdict NAME FILE: passes when FILE, the list of findings, is empty.
verdict() {
	if [ -s "$2" ]; then
		not_ok "$1"
		head -n 200 "$2" | sed 's/^/# /'
	else
		ok "$1"
	fi
}

skip() {
	tap_count=$((tap_count + 1))
	printf 'ok %d - %s # SKIP %s\n' $tap_count "$1" "$2"
}

finish() {
	printf '1..%d\n' $tap_count
	[ $tap_failed -eq 0 ]
	exit
}

# judge_is TOOL MAJOR: the linters of two Debian releases differ in opinion,
# and those of Debian 12 are the ones that judge. FW_LINT=any asks whichever
# is there.
judge_is() {
	[ "${FW_LINT:-}" = any ] || "$1" --version | grep -q "[vV]ersion $2\.\|Cppcheck $2\b"
}
