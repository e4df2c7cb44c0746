# SPDX-License-Identifier: BSD-2-Clause
# What is frozen into both firmwares: asyncio and nothing else. The agent and the programs come as source, as a user
# would bring them.
include("$(MPY_DIR)/extmod/asyncio")
