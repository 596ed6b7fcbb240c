# warnings.sh FOLDER COMPILER FLAG...: every model of the folder and its main.
# With -c among the flags, the objects must have nothing that could change.
cd "$1" || exit 1
shift
for main in *_main.c; do
    for f in "${main%_main.c}.c" "$main"; do
        rm -f x.o
        "$@" -fno-pic -fno-pie -Wall -Wextra -Wpedantic -Werror \
            -ffp-contract=off -D_POSIX_C_SOURCE=200809L -o x.o "$f" || exit 1
        if [ -f x.o ] && nm x.o | grep -E ' [DdBbCGgSs] '; then
            echo "$f has a mutable global"
            exit 1
        fi
    done
done
