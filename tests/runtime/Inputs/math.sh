#!/bin/sh
# math.sh TMP: measures the float functions; on a processor without fma only
# the plain path.
set -e
here=$(cd "$(dirname "$0")" && pwd)
flags="-O3 -ffp-contract=off -fno-math-errno -fno-trapping-math -I$here/../../../runtime"
cc=${CC:-cc}
$cc $flags "$here/math.c" -o "$1" -lm
"$1" 100003 plain
if grep -q -w fma /proc/cpuinfo 2>/dev/null; then
    $cc $flags -mfma -mavx2 "$here/math.c" -o "$1" -lm
    "$1" 100003
fi
