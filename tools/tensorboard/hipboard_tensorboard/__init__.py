# SPDX-License-Identifier: MIT
"""hipboard's page as a tab of TensorBoard."""
