#!/bin/sh
# device.sh [--dry] [OUT]: everything that needs a GPU, in at most 8 minutes,
# on a machine with nvcc and python3. Builds the emitted programs in OUT
# (device_out unless given), checks them against the evaluator, runs them under
# compute-sanitizer, and times GPT-2 124M; a summary ends it, which is
# OUT/summary.txt too. A part that fails or has no time left is named there,
# the rest goes on. --dry: tiny, with the stand-in headers of tests/cuda_host.
# Set EDLC to use a compiler that is built already: `make build/edlc
# LDFLAGS=-static` makes one that needs nothing on the other machine.
set -u
cd "$(dirname "$0")/.." || exit 2
root=$(pwd)
python=${PYTHON:-python3}
part=false
if [ "${1:-}" = --part ]; then # of itself: a function below, under timeout
    part=true
    shift
else
    dry=false
    [ "${1:-}" = --dry ] && { dry=true; shift; }
    out=${1:-device_out}
    mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 2
    : >"$out/summary.txt"
    began=$(date +%s)
fi
limit=${DEVICE_SECONDS:-470}
$dry && limit=3600 # other work may run there
edlc=${EDLC:-$root/build/edlc}
host=$root/tests/cuda_host/Inputs
failures=0

say() { echo "$*" | tee -a "$out/summary.txt"; }
left() { echo $((limit - $(date +%s) + began)); }

# part NAME SECONDS COMMAND...: its output goes to OUT/NAME.log; the last line
# of it to the summary.
part() {
    name=$1 most=$2
    shift 2
    $dry && most=$((10 * most))
    rest=$(left)
    [ "$most" -le "$rest" ] || most=$rest
    if [ "$most" -lt 5 ]; then
        say "$name: no time left"
        failures=$((failures + 1))
        return 1
    fi
    start=$(date +%s)
    timeout "$most" sh "$root/tests/device.sh" --part "$@" >"$out/$name.log" 2>&1
    code=$?
    if [ $code -ne 0 ]; then
        say "$name: FAILED, status $code: $(tail -n 1 "$out/$name.log")"
        failures=$((failures + 1))
        return 1
    fi
    say "$name: $(tail -n 1 "$out/$name.log") [$(($(date +%s) - start)) s]"
}

# build FOLDER [FLAG...]: the trainers of a folder
build() {
    folder=$1
    shift
    if $dry; then
        "$host/build.sh" "$folder" "$@" && echo built
    else
        make -s -C "$folder" -j "$(nproc)" GPU="${GPU:--arch=sm_90}" \
            CPPFLAGS="$*" && echo built
    fi
}

# emit_into NAME FILE FLAG...: compiled by edlc into OUT/NAME, beside what is
# there; emit: alone
emit_into() {
    emitted=$1 file=$2
    shift 2
    "$edlc" "$file" --target=cuda -o "$out/$emitted" "$@" && echo emitted
}

emit() {
    rm -rf "${out:?}/$1"
    emit_into "$@"
}

right() {
    source=$1 folder=$2
    shift 2
    $python "$host/host_eval.py" "$edlc" "$source" "$out/$folder" "$@"
}

# sanitize FOLDER MODEL FILE FLAG...: makes inputs for one step, and runs it
sanitize() {
    folder=$out/$1 model=$2
    right "$3" "$1" "$4" --within=0.02 "$model" || return 1
    for tool in memcheck racecheck synccheck; do
        (cd "$folder" && compute-sanitizer --tool $tool --error-exitcode 9 \
            "./$model" --quiet --seed=3 --steps=1 --inputs=in.st) || return 1
    done
    echo "memcheck, racecheck and synccheck found nothing"
}

# cuBLASLt of a Python package (nvidia/cu13, nvidia/cublas), where the toolkit
# has none
use_package() {
    found=$($python -c 'import glob, os, sys
for p in sys.path:
    for h in glob.glob(p + "/nvidia/**/cublasLt.h", recursive=True):
        print(os.path.dirname(os.path.dirname(h)))' | head -n 1)
    [ -n "$found" ] || { say "cublasLt.h: not here"; return; }
    mkdir -p "$out/lib"
    for l in "$found"/lib/libcublas*.so.*; do
        name=${l##*/}
        ln -sf "$l" "$out/lib/${name%%.so.*}.so"
    done
    export NVCC_APPEND_FLAGS="-I$found/include -L$out/lib -Xlinker -rpath=$found/lib"
    say "cuBLASLt: of $found"
}

write_tokens() {
    $python -c 'import array, random, sys
r = random.Random(1)
n = int(sys.argv[3])
for f in sys.argv[1:3]:
    array.array("H", (r.randrange(n) for _ in range(1 << 19))).tofile(
        open(f, "wb"))' "$out/train.bin" "$out/val.bin" "$1" && echo written
}

# time_model FOLDER
time_model() {
    cp "$out/train.bin" "$out/val.bin" "$out/$1" &&
        cd "$out/$1" && $python "$root/bench/device_step.py" ./gpt2 \
        $((B * T * microbatches)) "$steps" $shape
}

# same_bits FOLDER: two steps leave what two others of the program without a
# limit have left
same_bits() {
    first=$out/whole/bits.st
    [ -e "$first" ] || (cd "$out/whole" && ./gpt2 --quiet --steps=2 \
        --save=bits.st) || return 1
    cd "$out/$1" && ./gpt2 --quiet --steps=2 --save=again.st &&
        cmp "$first" again.st && rm again.st && echo "the same bits"
}

# bytes that leave $1 of the activations
limit_of() {
    "$edlc" plan "$out/gpt2.edl" --target=cuda --set="$dims" $precision \
        --json | $python -c 'import json, sys
c = json.load(sys.stdin)
a = c["classes"]["stash"] + c["classes"]["workspace"]
print(int(c["total"] - a + a * float(sys.argv[1])))' "$1"
}

# profile: the GPU and the products of GPT-2, into OUT/gpu.toml
profile() {
    $dry && export NVCC="$host/nvcc_host.sh"
    "$edlc" profile "$out/gpt2.edl" --target=cuda --set="$dims" $precision \
        --quick -o "$out/gpu.toml" &&
        echo "$(sed '1,/^.products/d' "$out/gpu.toml" | wc -l) products," \
            "$(grep -E '^(f32|bf16|memory) =' "$out/gpu.toml" | tr '\n' ' ')"
}

# kernels FOLDER: time by kernel, largest first; from a build with EDL_PROFILE
kernels() {
    cp "$out/train.bin" "$out/val.bin" "$out/$1" && cd "$out/$1" &&
        ./gpt2 --quiet --steps=6 2>profile.txt &&
        $python "$root/bench/device_kernels.py" profile.txt "$edlc" \
            "$out/gpt2.edl" --target=cuda --set="$dims" $precision
}

if $part; then
    "$@"
    exit
fi

# ---- a GPU, and a compiler ----

if $dry; then
    B=1 T=8 microbatches=2 steps=3 MODELS="mlp" small="B=4"
    shape="--layers=3 --width=32 --vocab=64 --context=8"
    vocab=64 plans="whole half:0.8"
    sed -e 's/C = 768, H = 12, L = 12/C = 32, H = 2, L = 3/' \
        -e 's/V = 50257/V = 64/' -e 's/accumulate 8/accumulate 2/' \
        samples/gpt2.edl >"$out/gpt2.edl"
    say "dry run on $(uname -m), no GPU"
else
    B=32 T=1024 microbatches=1 steps=30 MODELS="mlp chargpt llama bert" small="B=2,T=40"
    shape="" vocab=50257 plans="whole half:0.5 quarter:0.25"
    sed 's/accumulate 8/accumulate 1/' samples/gpt2.edl >"$out/gpt2.edl"
    command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
    command -v nvcc >/dev/null || { echo "device.sh: no nvcc" >&2; exit 2; }
    gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader) ||
        { echo "device.sh: no GPU; --dry needs none" >&2; exit 2; }
    say "$gpu, $(nvcc --version | tail -n 1)"
    echo '#include <cublasLt.h>' >"$out/library.cu"
    nvcc -E "$out/library.cu" >/dev/null 2>&1 || use_package
fi
dims=B=$B,T=$T
export dry out began B T microbatches steps shape dims
export precision=${PRECISION---precision=bf16}
[ -x "$edlc" ] || part edlc 120 make -s -j "$(nproc)" build/edlc || exit 1
"$edlc" --version >/dev/null ||
    { say "edlc does not run here: build it with LDFLAGS=-static"; exit 1; }

# ---- correctness ----

size_of() { [ "$1" = mlp ] && echo B=8 || echo "$small"; }

for p in f32 bf16; do
    within=
    [ $p = bf16 ] && within=--within=0.02
    for m in $MODELS; do
        part "emit-$m-$p" 20 emit_into "$p" "samples/$m.edl" \
            --precision=$p --set="$(size_of "$m")"
    done
    part "build-$p" 110 build "$out/$p" || continue
    for m in $MODELS; do
        set=--set=$(size_of "$m")
        part "right-$m-$p" 60 right "samples/$m.edl" $p "$set" $within "$m"
    done
done
# ---- GPT-2 ----

part tokens 20 write_tokens $vocab
for p in $plans; do
    flag=
    [ $p = whole ] || flag=--memory=$(limit_of ${p#*:})
    p=${p%:*}
    part "emit-$p" 60 emit $p "$out/gpt2.edl" --set=$dims $precision $flag &&
        part "build-$p" 120 build "$out/$p" &&
        part "gpt2-$p" 90 time_model $p &&
        part "bits-$p" 60 same_bits $p
    [ $p = whole ] || continue
    part profile 100 profile &&
        part emit-best 60 emit best "$out/gpt2.edl" --set=$dims $precision \
            --machine="$out/gpu.toml" &&
        ! $dry && part build-best 120 build "$out/best" &&
        part gpt2-best 90 time_model best
    part emit-kernels 60 emit kernels "$out/gpt2.edl" --set=$dims $precision &&
        part build-kernels 120 build "$out/kernels" -DEDL_PROFILE &&
        part kernels 60 kernels kernels && head -n 25 "$out/kernels.log"
done
if ! $dry && $python -c 'import torch' 2>/dev/null; then
    part torch-compile 150 $python bench/gpt2_torch_cuda.py -B $B -T $T
else
    say "torch.compile: not here"
fi

# ---- what it takes longest to find nothing with ----

if command -v compute-sanitizer >/dev/null && ! $dry; then
    part sanitizer-mlp 40 sanitize f32 mlp samples/mlp.edl --set=B=8
    part sanitizer-chargpt 60 sanitize bf16 chargpt samples/chargpt.edl \
        --set="$small"
else
    say "compute-sanitizer: not here"
fi
say "$failures parts failed; $(($(date +%s) - began)) s"
[ $failures -eq 0 ]
