# %% [markdown]
# # From a checkerboard to a circuit
#
# Every cell of a grid is made of the same soft gates. The cells learn to grow a checkerboard from random starts. Then the gates
# become hard, and the circuit is simplified and proved.
# %%
import farad as fd
import numpy as np

run = fd.train("checkerboard", "board", device="cpu", progress=False)
result = run.results[0]
print({key: result[key] for key in ("exact", "proved", "active_gates", "simplified_gates", "simplified_depth")})
run
# %%
circuit = run.circuit()
circuit
# %%
circuit.statistics()
# %% [markdown]
# What the cell computes, as Verilog:
# %%
print("\n".join(line.strip() for line in circuit.verilog().splitlines() if " = n" in line or "~" in line)[:600])
# %% [markdown]
# ## The grid grows
#
# From random cells, the board comes out within a few steps.
# %%
film = np.asarray(circuit.film(16, 16, 20, seed=3))
for step in (0, 5, 20):
    print(f"step {step}")
    print("\n".join("".join("█" if cell else "·" for cell in row) for row in film[step]))
# %% [markdown]
# ## A function of two bits
#
# Gates are layers too. Here 25 of them learn `exclusive or`, and one gate is left.
# %%
from farad import logic

fd.seed(3)
x = fd.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
y = fd.array([[0.0], [1.0], [1.0], [0.0]])
network = logic.GateNetwork([2, 16, 8, 1], seed=3)
opt = fd.optim.AdamW(network.parameters(), learning_rate=0.1, weight_decay=0.0)
for step in range(200):
    opt.step(network(x).mean_squared_error(y))
learned = network.harden("exclusive_or")
small = learned.simplify()
print(learned, "becomes", small, "- proved:", small.prove(learned))
small
