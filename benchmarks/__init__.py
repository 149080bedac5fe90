# SPDX-License-Identifier: Apache-2.0
"""Measures the package against its peers and against the memory; see README.md beside."""
