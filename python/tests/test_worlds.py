"""Worlds that are written in Python, worlds of the library, and agents that learn in them."""

import threading

import numpy as np
import pytest

import farad as fd
from farad import rl


class Pole(rl.World):
    """Gym's cart-pole, as the library has it."""

    observations, actions, longest = 4, rl.Discrete(2), 500

    def begin(self, worlds, device):
        return fd.random.uniform((worlds, 4), -0.05, 0.05, device=device)

    def observe(self, state):
        return state

    def step(self, state, action):
        x, speed, angle, turn = (state[:, n] for n in range(4))
        force = action.astype(fd.float32) * 20 - 10
        sine, cosine = angle.sin(), angle.cos()
        push = (force + 0.05 * turn * turn * sine) / 1.1
        turning = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine * cosine / 1.1))
        going = push - 0.05 * turning * cosine / 1.1
        parts = [x + 0.02 * speed, speed + 0.02 * going, angle + 0.02 * turn, turn + 0.02 * turning]
        ended = (abs(parts[0]) > 2.4) | (abs(parts[2]) > 0.20943951)
        return fd.stack(parts, axis=1), fd.ones_like(x), ended


class Point(rl.World):
    """A point in the plane that should stand at the middle; its state is a dictionary."""

    observations, actions, longest = 2, rl.Continuous(2), 15

    def begin(self, worlds, device):
        return {"place": fd.random.uniform((worlds, 2), -1, 1, device=device), "age": fd.zeros((worlds,), device=device)}

    def observe(self, state):
        return state["place"]

    def step(self, state, action):
        place = state["place"] + action * 0.2
        return {"place": place, "age": state["age"] + 1}, -(place * place).sum(axis=1), state["age"] > 100


def test_cart_pole_in_python_learns_to_stand():
    trained = rl.train(Pole(), updates=120, seed=2, worlds=128, goal=400, progress=False)
    returns = trained.returns(worlds=100)
    assert returns.shape == (1, 100) and returns.mean() > 300, returns.mean()
    curve = trained.curves["return"]
    assert curve[-1, 0] > 5 * max(curve[0, 0], 1)


def test_a_step_in_python_is_a_step_of_the_library():
    own, other = rl.world(Pole()), rl.world("cartpole")
    assert (own.observations, own.longest, own.actions, own.is_discrete) == (4, 500, 2, True)
    assert (other.observations, other.longest, other.actions, other.is_discrete) == (4, 500, 2, True)
    fd.Device("cpu").seed(5)
    state = other.begin(8)
    action = fd.array([0, 1] * 4)
    assert sum(part.size for part in state) == 32
    whole = other.observe(state)
    mine, rewards, ended = own.step([whole], action)
    theirs, wanted, over = other.step(state, action)
    assert fd.allclose(own.observe(mine), other.observe(theirs), rtol=1e-5, atol=1e-6)
    assert rewards.tolist() == wanted.tolist() and ended.tolist() == over.tolist()


@pytest.mark.parametrize("algorithm, options", [
    ("ppo", dict(worlds=32, horizon=15, minibatches=4, learning_rate=0.003)),
    ("es", dict(population=32, trials=4, policy=[], step=0.1, noise=0.2)),
    ("cma", dict(population=16, trials=4, policy=[])),
])
def test_every_algorithm_learns_in_a_world_of_ones_own(algorithm, options):
    trained = rl.train(Point(), algorithm, updates=40, seeds=2, progress=False, **options)
    before = rl.learner(Point(), algorithm, seeds=2, **options).agents().returns(trained.world, 64)[0].numpy().mean()
    after = trained.returns(64).mean()
    assert trained.returns(64).shape == (2, 64) and after > before + 1.0, (before, after)


def test_a_training_goes_on_where_it_was():
    def learner():
        return rl.learner(Point(), seeds=1, worlds=8, horizon=8, minibatches=2, updates=6, seed=4)

    whole = learner()
    device = fd.Device("cpu")
    for _ in range(3):
        whole.update()
    state, random = whole.state_dict(), device.random_state
    rest = [whole.update().tolist() for _ in range(3)]
    other = learner()
    other.load_state_dict(state, 3)
    device.random_state = random
    assert [other.update().tolist() for _ in range(3)] == rest
    taken = learner()
    taken.take(other.agents())
    seen = fd.array([[0.5, -0.5]])
    assert taken.agents().act(seen).tolist() == other.agents().act(seen).tolist()


def test_agents_act_and_play():
    trained = rl.train(Point(), updates=2, seeds=2, worlds=8, horizon=8, minibatches=2, progress=False)
    assert len(trained.agents) == 2 and len(trained.agents[1]) == 1
    assert trained.agents[0].act(fd.zeros((3, 2))).shape == (3, 2)
    states, actions, rewards = trained.agents.episode(trained.world)
    assert len(states) == len(actions) == len(rewards) == 15 and len(states[0]) == 3
    assert "0.weight" in trained.agents.state_dict()
    with pytest.raises(IndexError):
        trained.agents[2]


def test_worlds_of_bodies_have_gradients():
    world = rl.world("swimmer")
    state = world.begin(2)
    actions = fd.zeros((2, world.actions))
    total = fd.array(0.0)
    for _ in range(3):
        state, reward, _ = world.step(state, actions)
        total = total + reward.sum()
    slope = np.asarray(total.gradient(actions))
    assert np.isfinite(slope).all() and np.abs(slope).max() > 0


class Wrong(Point):
    def __init__(self, part):
        self.part = part

    def begin(self, worlds, device):
        return [] if self.part == "nothing" else super().begin(worlds + (self.part == "more"), device)

    def observe(self, state):
        return state["age"] if self.part == "seen" else super().observe(state)

    def step(self, state, action):
        if self.part == "raises":
            raise KeyError("the floor")
        after, reward, ended = super().step(state, action)
        return {"two": (after, reward), "reward": (after, reward[:1], ended), "shape": ({"place": after["place"]}, reward, ended),
                "end": (after, reward, 1)}.get(self.part, (after, reward, ended))


@pytest.mark.parametrize("part", ["nothing", "more", "seen", "two", "reward", "shape", "end"])
def test_wrong_worlds_say_what_is_wrong(part):
    with pytest.raises(ValueError, match="Wrong: "):
        rl.train(Wrong(part), updates=1, worlds=8, horizon=8, minibatches=2, progress=False)


def test_exceptions_of_worlds_are_raised_again():
    with pytest.raises(KeyError, match="the floor"):
        rl.train(Wrong("raises"), updates=1, worlds=8, horizon=8, minibatches=2, progress=False)
    for call, error in (
        (lambda: rl.world(object()), TypeError), (lambda: rl.world("nowhere"), ValueError),
        (lambda: rl.train(Point(), "sarsa", progress=False), ValueError),
        (lambda: rl.train(Point(), colour=1, progress=False), TypeError),
        (lambda: rl.train(Point(), worlds=-1, progress=False), fd.FaradError),
        (lambda: rl.train(Point(), worlds=3, horizon=5, minibatches=2, progress=False), fd.FaradError),
        (lambda: rl.World().begin(1, None), NotImplementedError),
    ):
        with pytest.raises(error):
            call()


def test_threads_train_worlds_at_once():
    found, failed = [], []

    def work():
        try:
            found.append(rl.train(Point(), updates=3, worlds=8, horizon=8, minibatches=2, progress=False).returns(4).shape)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert not failed and found == [(1, 4)] * 2
