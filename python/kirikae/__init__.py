"""Congestion controls compared in virtual time: scenarios, simulations, and what came of them as tables.

>>> import kirikae
>>> outcome = kirikae.simulate(kirikae.Scenario.load("scenarios/shallow.toml"))
>>> print(outcome)
"""

from ._kirikae import Error, Outcome, Scenario, ScenarioError, Table
from .engines import Engine, Processes, Ray, Threads
from .simulation import simulate

__all__ = [
    "Engine",
    "Error",
    "Outcome",
    "Processes",
    "Ray",
    "Scenario",
    "ScenarioError",
    "Table",
    "Threads",
    "simulate",
]
