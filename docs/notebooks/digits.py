# %% [markdown]
# # Digits
#
# A network learns to read digits, first as a run of Farad, then by a training loop of our own. The digits are drawn by the
# program, so nothing is downloaded. With `data="FOLDER"` the same run reads the files of MNIST.
# %%
import farad as fd
import numpy as np
from farad import nn

fd.seed(1)
run = fd.train("mnist", "digits", data="synthetic", device="cpu", epochs=1, progress=False)
run
# %% [markdown]
# The curves are in the run's folder, and the pictures above were drawn from them.
# %%
steps, losses = run.curves["loss"]
print(f"{len(steps)} rows, loss {losses[0]:.2f} at step {steps[0]}, {losses[-1]:.2f} at step {steps[-1]}")
# %% [markdown]
# ## The same by hand
#
# Arrays are lazy. `opt.step(loss)` computes gradients and the update in one submission, and replays it from the second step on.
# Here a small network learns on which side of a picture a bright square is.
# %%
pictures = np.zeros((512, 1, 16, 16), dtype=np.float32)
labels = np.zeros(512, dtype=np.int32)
drawn = np.random.default_rng(1)
for n in range(512):
    left = drawn.integers(0, 2)
    row, column = drawn.integers(0, 11), drawn.integers(0, 5) + (0 if left else 7)
    pictures[n, 0, row : row + 5, column : column + 5] = 1.0
    labels[n] = left
x, y = fd.array(pictures), fd.array(labels)

model = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.Relu(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 2))
opt = fd.optim.AdamW(model.parameters(), learning_rate=0.01)
for epoch in range(5):
    for start in range(0, 512, 64):
        loss = model(x[start : start + 64]).cross_entropy(y[start : start + 64])
        opt.step(loss)
    right = (model(x).argmax(axis=1) == y).mean().item()
    print(f"epoch {epoch + 1}: loss {loss.item():.3f}, {right:.1%} right")
# %%
assert right > 0.95
model(x[:4]).softmax()
