#!/bin/sh
# cc.sh OUT [-x LANGUAGE] FILE...: compiles the files and all of the runtime
# with the flags of emitted code and -Werror. LANG_CXX=1: as C++17. Products of
# bf16 are left out: slow to compile, and tests/precision has them.
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
out=$1
shift
if [ -n "$LANG_CXX" ]; then
    cc="${CXX:-c++} -std=c++17 -x c++"
else
    cc="${CC:-cc} -std=c11"
fi
for file in "$root"/runtime/edl*.c; do
    case $file in *_bf16.c) ;; *) set -- "$@" "$file" ;; esac
done
exec $cc ${OPT:--O1} -ffp-contract=off -fno-math-errno -fno-trapping-math \
    -Wall -Wextra -Wpedantic -Wshadow -Werror $FLAGS \
    -I"$root/runtime" -I"$here" "$@" \
    -x none -o "$out" -lpthread -lm
