# SPDX-License-Identifier: Apache-2.0
"""What bench/run is made of: see bench/README.md."""
