# compilers.sh FOLDER: every model there and the products of the runtime, built
# by gcc and clang for this machine and by gcc for AVX2, must make the same
# bits in a step.
cd "$1" || exit 1
flags="-std=c11 -ffp-contract=off -fno-math-errno -fno-trapping-math -pthread"
ls *_main.c edl_*.c | xargs -P2 -n1 cc -O1 $flags -c || exit 1
build() {
    out=$1
    shift
    "$@" $flags -c edl_matmul.c || exit 1
    for main in *_main.c; do
        m=${main%_main.c}
        "$@" $flags "$m.c" "${m}_main.o" edl_*.o -o trainer -lm || exit 1
        ./trainer --inputs="$m.st" --grads --steps=1 --threads=2 --quiet \
            --outputs="$m.$out" || exit 1
    done
}
build gcc gcc -O3 -march=native
build clang clang -O3 -march=native
if grep -qw avx2 /proc/cpuinfo; then
    build avx2 gcc -O2 -march=x86-64-v3
fi
for f in *.gcc; do
    for g in "${f%.gcc}.clang" "${f%.gcc}.avx2"; do
        [ ! -f "$g" ] || cmp -s "$f" "$g" || { echo "$f and $g differ"; exit 1; }
    done
done
echo "the same bits"
