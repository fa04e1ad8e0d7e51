"""Congestion controls compared in virtual time: scenarios, simulations, and what came of them as tables.

>>> import kirikae
>>> outcome = kirikae.simulate(kirikae.Scenario.load("scenarios/shallow.toml"))
>>> print(outcome)
"""

from ._kirikae import Error, Explanation, LatencyTable, Outcome, Scenario, ScenarioError, Table, explain
from .engines import Engine, Processes, Ray, Threads
from .simulation import BatchError, simulate

__all__ = [
    "BatchError",
    "Engine",
    "Error",
    "Explanation",
    "LatencyTable",
    "Outcome",
    "Processes",
    "Ray",
    "Scenario",
    "ScenarioError",
    "Table",
    "Threads",
    "explain",
    "simulate",
]
