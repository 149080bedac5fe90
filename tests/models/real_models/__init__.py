# SPDX-License-Identifier: Apache-2.0
"""Real models with an ArgMax, inside or appended, and what they are fed with.

A module for each model; the tests beside this folder and ``benchmarks/models.py`` run them.
"""
