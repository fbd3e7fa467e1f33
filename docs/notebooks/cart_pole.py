# %% [markdown]
# # Cart-pole
#
# A pole stands on a cart. Pushing the cart left or right must keep it upright. The policy is learned by PPO, with the world
# and the network on the same device.
# %%
import farad as fd

run = fd.train("cartpole", "cart-pole", device="cpu", progress=False)
run
# %% [markdown]
# An episode ends after 500 steps, so 500 is the best return there is.
# %%
result = run.results[0]
print({key: value for key, value in result.items() if isinstance(value, (int, float))})
# %% [markdown]
# ## The curves
# %%
for name, (at, values) in run.curves.items():
    if values:
        print(f"{name:<20} {values[0]:>10.3f} at {at[0]:<6} {values[-1]:>10.3f} at {at[-1]}")
