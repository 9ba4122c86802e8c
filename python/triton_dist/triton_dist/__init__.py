# SPDX-License-Identifier: MIT
"""tdtune under the names that Triton-distributed's documentation gives it."""
