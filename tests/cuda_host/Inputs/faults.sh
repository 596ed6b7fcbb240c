#!/bin/sh
# faults.sh PROGRAM: what each wrong program shows under seeds 0, 3, 5 and 9.
for what in right unsynced race early touch beyond apart \
    given given-beyond given-much \
    streams streams-fork streams-join graph graph-fork graph-join; do
    seen=$(for seed in 0 3 5 9; do
        EDL_HOST_SEED=$seed "$1" $what 2>&1 || echo "status $?"
    done | sed 's/^Segmentation.*//; /^$/d' | sort -u)
    case "$seen" in
    *'cuda_host:'*) echo "$what: $(echo "$seen" | grep cuda_host: | head -1)" ;;
    *status*) echo "$what: stopped" ;;
    *) echo "$what: $(echo "$seen" | wc -l) results" ;;
    esac
done
EDL_HOST_SEED=0 "$1" right
EDL_HOST_SEED=5 "$1" copied
EDL_HOST_SEED=5 "$1" uncopied
EDL_HOST_SEED=0 "$1" early
