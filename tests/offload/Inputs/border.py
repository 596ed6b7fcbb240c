"""border.py: two steps of four layers as one graph, forward 1, backward 2. A
state of 10 a layer lies off the device; the update that needs it follows the
layer's backward node and takes no time. Two slots."""
STEPS, LAYERS = 2, 4
N = STEPS * LAYERS
T = "f32[160000]"
print("edl-ir 1\nmodel border\noption mode = train\ninput x : u8[64]")
for i in range(1, N + 1):
    print(f"param w{i} : f32[160000] = constant(0)")
print("output out : u8[64]")
for i in range(1, N + 1):
    print(f"opt m{i} : {T} @host of w{i} role m = constant(0)")
print("\ngraph forward {\n  x = read x : u8[64]\n  phase update")


def fetch(i):
    print(f"  m{i} = read m{i} : {T}")
    print(f"  m{i}.in = fetch m{i} (queue = 1) : {T}")


def wait_out(i):
    print(f"  wait m{i}.out, m{i}.in\n  write m{i} = m{i}.out")


last, j = "x", 0
fetch(1)
for step in range(STEPS):
    for k in range(LAYERS):
        print(f"  f{step}.{k} = opaque {last} (time = 1000000) : u8[64]")
        last = f"f{step}.{k}"
    for k in range(LAYERS):
        j += 1
        print(f"  b{j} = opaque {last} (time = 2000000) : u8[64]")
        print(f"  wait m{j}.in, m{j}")
        print(f"  u{j} = opaque b{j}, m{j}.in (time = 0) : u8[64]")
        last = f"u{j}"
        if j > 1:
            wait_out(j - 1)
        print(f"  m{j}.out = offload m{j}.in (queue = 0) : {T} in tensor "
              f"m{j}(0; 1) @host")
        if j < N:
            fetch(j + 1)
wait_out(N)
print(f"  write out = {last}\n}}\n\nprogram step {{\n  call forward\n}}")
