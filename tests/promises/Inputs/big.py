"""big.py TRAINER FOLDER: the loss and the gradient of big.edl. Rows of the
same token have the same logits, so that eight rows tell them all."""
import os
import sys

import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             "../../torch/Inputs"))
import tensors
from tool import call

trainer, folder = sys.argv[1:]
V, N = 2200000, 1024
r = np.random.default_rng(1)
w = r.standard_normal([V, 2]).astype(np.float32)
some = np.array([0, 1, 1000, 70000, 1100000, 2000000, V - 2, V - 1])
which = r.integers(0, 8, N)
targets = r.integers(0, V, N)
targets[-1], which[-1] = V - 1, 7
tensors.write(folder + "/init", {"wte": w})
tensors.write(folder + "/in", {
    k: v.astype(np.int32).reshape(2, 512)
    for k, v in (("tokens", some[which]), ("targets", targets))})
call(trainer, "--quiet", f"--init={folder}/init", f"--inputs={folder}/in",
     "--steps=1", "--grads", f"--outputs={folder}/out")
got = tensors.read(folder + "/out")
w = w.astype(np.float64)
p = np.exp(w[some] @ w.T)
sums = p.sum(1)
p /= sums[:, None]
loss = np.mean(np.log(sums)[which] - (w[some[which]] * w[targets]).sum(1))
count = np.bincount(which, minlength=8)
grad = (p * count[:, None]).T @ w[some]
np.subtract.at(grad, targets, w[some[which]])
np.add.at(grad, some[which], (p @ w)[which] - w[targets])
grad /= N
off = np.linalg.norm(got["grad/wte"] - grad) / np.linalg.norm(grad)
assert abs(got["loss"] - loss) < 1e-5 * loss, (got["loss"], loss)
# One chain of f32 additions over V, the same for all rows of a token, leaves
# sqrt(V) * eps * sqrt(rows of a token); a wrong place leaves about 1.
assert off < 1e-2, off
print("loss", loss, "gradient off by", off)
