#!/bin/sh
# nvcc_host.sh: called as `edlc profile` calls nvcc, compiles for the stand-in,
# and measures little.
here=$(cd "$(dirname "$0")" && pwd)
out=
sources=
while [ $# -gt 0 ]; do
    case $1 in
    -o) out=$2; shift ;;
    *.cu) sources="$sources $1" ;;
    esac
    shift
done
for f in $sources; do
    ${CXX:-c++} -std=c++17 -O1 -ffp-contract=off -I "$here/include" -Wall \
        -Wextra -Wno-unknown-pragmas -DEDL_PROBE_MOST=32 \
        "-DEDL_PROBE_BYTES=(1 << 16)" -x c++ -c "$f" -o "$f.o" || exit 1
done
${CXX:-c++} -o "$out" $(for f in $sources; do echo "$f.o"; done)
status=$?
rm -f $(for f in $sources; do echo "$f.o"; done)
exit $status
