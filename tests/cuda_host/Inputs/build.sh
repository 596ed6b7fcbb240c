#!/bin/sh
# build.sh DIR [FLAG...]: the trainers of the CUDA output in DIR, for the CPU.
# The very same .cu is compiled as C++ with the stand-in headers.
set -e
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
shift
flags="-O2 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math"
for f in edl_*.c *_main.c; do
    ${CC:-cc} -std=c11 $flags -c "$f"
done
for f in *.cu; do
    ${CXX:-c++} -std=c++17 $flags -I "$here/include" -I . -Wall -Wextra \
        -Wno-unknown-pragmas "$@" -x c++ -c "$f" -o "${f%.cu}.o"
done
for f in *_main.c; do
    m=${f%_main.c}
    ${CXX:-c++} "$@" -o "$m" "$m.o" "${m}_main.o" edl_*.o -pthread -lm
done
