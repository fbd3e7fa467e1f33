"""Gates that learn, and the circuits that they become.

>>> import farad as fd
>>> from farad import logic
>>> fd.seed(3)
>>> x = fd.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
>>> y = fd.array([[0.0], [1.0], [1.0], [0.0]])
>>> network = logic.GateNetwork([2, 16, 8, 1], seed=3)
>>> opt = fd.optim.AdamW(network.parameters(), learning_rate=0.1, weight_decay=0.0)
>>> for step in range(200):
...     opt.step(network(x).mean_squared_error(y))
>>> circuit = network.harden("exclusive_or").simplify()
>>> circuit.simulate(x > 0.5).tolist()
[[False], [True], [True], [False]]

Automata and classifiers of gates are trained as runs: `fd.train("checkerboard")`.
"""

from ._farad import Circuit, GateNetwork

__all__ = ["Circuit", "GateNetwork"]
