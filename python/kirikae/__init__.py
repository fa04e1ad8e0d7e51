"""Congestion controls compared in virtual time: scenarios, simulations, and what came of them as tables.

>>> import kirikae
>>> outcome = kirikae.simulate(kirikae.Scenario.load("scenarios/shallow.toml"))
>>> print(outcome)
"""

from ._kirikae import (
    Characterization,
    Error,
    Explanation,
    Fit,
    Grid,
    LatencyTable,
    Outcome,
    Reproduction,
    Scenario,
    ScenarioError,
    Search,
    Table,
    explain,
    fit,
)
from .algorithm import Algorithm
from .characterization import characterize
from .engines import Engine, Processes, Ray, Threads
from .reproduction import reproduce
from .searching import drawn_path, search
from .simulation import BatchError, simulate, trace

__all__ = [
    "Algorithm",
    "BatchError",
    "Characterization",
    "Engine",
    "Error",
    "Explanation",
    "Fit",
    "Grid",
    "LatencyTable",
    "Outcome",
    "Processes",
    "Ray",
    "Reproduction",
    "Scenario",
    "ScenarioError",
    "Search",
    "Table",
    "Threads",
    "characterize",
    "drawn_path",
    "explain",
    "fit",
    "reproduce",
    "search",
    "simulate",
    "trace",
]
