"""Congestion controls compared in virtual time: what the command line `kirikae-lab` computes, from Python.

A scenario says which path packets take, what is written on it and who competes (docs/scenarios.md); `simulate`
plays it. Times are in seconds where a name ends in `_s`, in nanoseconds in `_ns`; rates in bit/s.
"""

from kirikae._kirikae import Error, Outcome, Scenario, ScenarioError, Table, simulate

__all__ = ["Error", "Outcome", "Scenario", "ScenarioError", "Table", "simulate"]
