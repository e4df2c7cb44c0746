/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sink.c - what all sinks share: nothing but how one is disposed of.
 */
#include "sink/sink.h"

void sink_free(struct sink *s)
{
	if (s)
		s->ops->free(s);
}
