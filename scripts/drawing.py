"""What is drawn for scenarios of every kind: losses, and numbers evenly by their logarithm."""

import math

TRACES = {  # mean rate, Mbit/s
    "Verizon-LTE-short.down": 5.0,
    "Verizon-LTE-short.up": 5.9,
    "TMobile-LTE-short.down": 16.7,
    "TMobile-LTE-short.up": 13.3,
}
PACKET = 1500  # bytes


def log_uniform(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def loss(rng, during=""):
    """An element that loses, and how it is named; none in a third of the draws."""
    kind = rng.choice(["none", "isolated", "runs"])
    if during:
        kind = rng.choice(["isolated", "runs"])
    if kind == "isolated":
        share = round(log_uniform(rng, 0.0005, 0.03), 4)
        return f'element = "loss"\nprobability = {share}\n{during}', f"{share * 100:.2f} % isolated loss"
    if kind == "runs":
        begins, length = round(log_uniform(rng, 0.0003, 0.005), 5), rng.uniform(2, 8)
        element = f'element = "gilbert-elliott"\np = {begins}\nr = {1 / length:.3f}\nk = 1\nh = 0\n{during}'
        return element, f"runs of {length:.1f} packets lost, {begins * 100:.2f} % begin one"
    return None, "no loss"
