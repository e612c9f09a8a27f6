# SPDX-License-Identifier: Apache-2.0
"""The rules of check-profile, a file for each format."""
