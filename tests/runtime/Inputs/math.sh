#!/bin/sh
# math.sh TMP: measures the float functions without fma in hardware and, where
# the processor has it, with it: the same bits from gcc and clang, and from
# vectors of any width.
here=$(cd "$(dirname "$0")" && pwd)
stride=${EDLC_LONG:+211}
build() { # OUT COMPILER FLAG...
    out=$1
    shift
    "$@" -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math \
        -I"$here/../../../runtime" "$here/math.c" -o "$out" -lm || exit 1
}
build "$1" "${CC:-cc}"
"$1" "${stride:-100003}" plain || exit 1
grep -q -w fma /proc/cpuinfo 2>/dev/null || exit 0
build "$1" "${CC:-cc}" -mfma
"$1" "${stride:-100003}" >"$1.cc" || { cat "$1.cc"; exit 1; }
for flags in "clang -mfma -mavx2" "clang -O0 -mfma" \
        "${CC:-cc} -march=native"; do
    # shellcheck disable=SC2086
    build "$1" $flags
    "$1" "${stride:-100003}" >"$1.other"
    diff "$1.cc" "$1.other" || exit 1
done
