#!/bin/sh
# nvcc.sh DIR: every .cu in DIR as nvcc compiles it for sm_80 and sm_90: no
# warning and no spill. Leaves in FILE.log what ptxas says.
set -e
cd "$1"
for f in *.cu; do
    nvcc -std=c++17 -O3 -fmad=false -gencode arch=compute_80,code=sm_80 \
        -gencode arch=compute_90,code=sm_90 \
        -Werror all-warnings -Xcompiler -Wall,-Wextra,-ffp-contract=off \
        -Xptxas -v -c "$f" -o "$f.o" 2>"$f.log" ||
        { cat "$f.log"; exit 1; }
    if grep -E '[1-9][0-9]* bytes spill' "$f.log"; then
        echo "$f: spills"
        exit 1
    fi
    echo "$f: no spills"
done
