# chunk.sh TARGET EDLC MODEL FOLDER: the chunk of the head without a limit,
# and at the smallest.
set -e
small="--set=B=8,T=256 --target=$1"
least=$("$2" plan "$3" $small --memory=1 2>&1 |
    sed -n 's/.*smallest limit that works is \([0-9]*\) bytes/\1/p')
for limit in 100% "$least"; do
    "$2" "$3" $small --memory=$limit -o "$4/$1"
    grep -m1 -o 'chunk = [0-9]*' "$4/$1/gpt2.sched"
done
