/* SPDX-License-Identifier: 0BSD */
/* sizes.c - never linked: `make size` reads from it how much memory the agent's structures take on the board. */
#include "../lsagent.h"

char sizeof_lsa[sizeof(struct lsa)];
char sizeof_lsa_event[sizeof(struct lsa_event)];
char sizeof_lsa_task[sizeof(struct lsa_task)];
