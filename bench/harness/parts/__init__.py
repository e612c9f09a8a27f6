# SPDX-License-Identifier: Apache-2.0
"""One file per benchmark; each has run(bench), which adds tables and budgets to bench.results."""
