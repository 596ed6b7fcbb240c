#!/bin/sh
# nvcc.sh DIR: every .cu in DIR as nvcc compiles it for sm_80 and sm_90: no
# warning and no spill. Prints the kernels that use most registers.
set -e
cd "$1"
for f in *.cu; do
    for gpu in 80 90; do
        nvcc -std=c++17 -O3 -arch=sm_$gpu -fmad=false \
            -Werror all-warnings -Xcompiler -Wall,-Wextra,-ffp-contract=off \
            -Xptxas -v -c "$f" -o "$f.$gpu.o" 2>"$f.$gpu.log" ||
            { cat "$f.$gpu.log"; exit 1; }
        if grep -E '[1-9][0-9]* bytes spill' "$f.$gpu.log"; then
            echo "$f: spills on sm_$gpu"
            exit 1
        fi
        most=$(sed -n 's/.*Used \([0-9]*\) registers.*/\1/p' "$f.$gpu.log" |
            sort -n | tail -1)
        echo "$f sm_$gpu: no spills, at most ${most:-0} registers"
    done
done
