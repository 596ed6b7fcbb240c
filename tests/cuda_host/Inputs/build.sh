#!/bin/sh
# build.sh DIR [FLAG...]: the trainers of the CUDA output in DIR, for the CPU.
# The very same .cu is compiled as C++ with the stand-in headers, under the
# alignment sanitizer unless FLAG says otherwise. The runtime is
# built once for all tests that have the same files and flags.
set -e
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
shift
[ $# -gt 0 ] || set -- -fsanitize=alignment -fno-sanitize-recover=all
flags="-O2 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math"
compile_c() {
    ${CC:-cc} -std=c11 $flags -c "$@"
}
compile_cu() {
    ${CXX:-c++} -std=c++17 $flags -I "$here/include" -I . -Wall -Wextra \
        -Wno-unknown-pragmas $more -x c++ -c "$@"
}
more=$*
key=$({ echo "$flags $more ${CC:-cc} ${CXX:-c++}"
    cat edl*.h edl*.c edl*.cu* "$here"/include/*; } | md5sum | cut -c1-16)
case $PWD in
*/Output/*) kept=${PWD%%/Output/*}/Output/runtime-$key ;;
*) kept=$PWD/runtime-$key ;;
esac
if [ ! -d "$kept" ]; then
    mine=$(mktemp -d "$kept.XXXXXX")
    for f in edl_*.c; do
        compile_c "$f" -o "$mine/${f%.c}.o"
    done
    for f in edl_*.cu; do
        compile_cu "$f" -o "$mine/${f%.cu}.o"
    done
    mv -T "$mine" "$kept" 2>/dev/null || rm -r "$mine"
fi
echo "$kept" >runtime.path
for f in *_main.c; do
    m=${f%_main.c}
    compile_c "$f" -o "${m}_main.o"
    compile_cu "$m.cu" -o "$m.o"
    ${CXX:-c++} "$@" -o "$m" "$m.o" "${m}_main.o" "$kept"/*.o -pthread -lm
done
