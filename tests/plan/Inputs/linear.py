"""linear.py EDLC MODEL.edl: processor time of a deep model, per layer, against
that of one a quarter as deep. Caches make the deeper one slower; a quadratic part
would make it four times as slow."""
import resource
import subprocess
import sys
import tempfile

edlc, model = sys.argv[1:3]
text = open(model).read()


def seconds(layers):
    with tempfile.NamedTemporaryFile("w", suffix=".edl") as f:
        f.write(text.replace("L = 3", f"L = {layers}"))
        f.flush()
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([edlc, "plan", f.name], check=True,
                       stdout=subprocess.DEVNULL)
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


small = min(seconds(500) for _ in range(2))
large = seconds(2000)
print(f"{small:.3f} s for 500 layers, {large:.3f} s for 2000")
assert large < 3 * 4 * max(small, 0.1)
