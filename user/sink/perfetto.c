/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perfetto.c - see perfetto.h. What the trace is of and which clock it means, then counters, slow ticks, spans: whoever interrupts
 * the long part has the rest.
 */
#include "sink/perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sink/output.h"
#include "sink/perfetto_trace.h"

/* FNV-1a, 64 bits. */
static uint64_t hash(const char *s)
{
	uint64_t h = 0xcbf29ce484222325;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3;
	return h;
}

/* The host's monotonic clock is told too, so that a system's trace can be laid on ours where only that has both. */
static int put_clock(struct perfetto_trace *t)
{
	Perfetto__TracePacket p = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__ClockSnapshot snapshot = PERFETTO__CLOCK_SNAPSHOT__INIT;
	Perfetto__ClockSnapshot__Clock real = PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT, monotonic = PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT;
	Perfetto__ClockSnapshot__Clock *clocks[] = { &real, &monotonic };
	int64_t start = t->host->start_ns > 0 ? t->host->start_ns : 0;
	bool known = t->host->monotonic_ns > 0 && t->host->monotonic_ns <= start;

	real.has_clock_id = real.has_timestamp = monotonic.has_clock_id = monotonic.has_timestamp = true;
	real.clock_id = PERFETTO__CLOCK_ID__CLOCK_REALTIME;
	real.timestamp = (uint64_t)start;
	monotonic.clock_id = PERFETTO__CLOCK_ID__CLOCK_MONOTONIC;
	monotonic.timestamp = known ? (uint64_t)(start - t->host->monotonic_ns) : 0;
	snapshot.clocks = clocks;
	snapshot.n_clocks = known ? 2 : 1;
	snapshot.has_primary_trace_clock = true;
	snapshot.primary_trace_clock = PERFETTO__CLOCK_ID__CLOCK_REALTIME;
	p.has_trusted_packet_sequence_id = true;
	p.trusted_packet_sequence_id = PERFETTO_SEQUENCE_COUNTERS;
	p.clock_snapshot = &snapshot;
	return perfetto_out_packet(&t->out, &p);
}

static int put_system(struct perfetto_trace *t)
{
	Perfetto__TracePacket p = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__SystemInfo system = PERFETTO__SYSTEM_INFO__INIT;
	Perfetto__Utsname uts = PERFETTO__UTSNAME__INIT;
	char version[64];
	int err;

	uts.sysname = (char *)"Linux";
	uts.release = perfetto_notes_text(&t->notes, t->host->kernel, PERFETTO_NAME_SHOWN);
	uts.machine = perfetto_notes_text(&t->notes, t->host->machine, PERFETTO_NAME_SHOWN);
	system.utsname = &uts;
	system.machine_name = perfetto_notes_text(&t->notes, t->host->hostname, PERFETTO_NAME_SHOWN);
	snprintf(version, sizeof(version), "loopscope %.40s", t->host->version);
	system.tracing_service_version = perfetto_notes_text(&t->notes, version, sizeof(version));
	system.has_num_cpus = t->host->cpus > 0;
	system.num_cpus = t->host->cpus > 0 ? (uint32_t)t->host->cpus : 0;
	p.has_trusted_packet_sequence_id = true;
	p.trusted_packet_sequence_id = PERFETTO_SEQUENCE_COUNTERS;
	p.system_info = &system;
	err = t->notes.failed ? fault(t->out.f, -ENOMEM, EXIT_FAILED, "no memory for the trace") : perfetto_out_packet(&t->out, &p);
	perfetto_notes_clear(&t->notes);
	return err;
}

static void trace_free(struct perfetto_trace *t)
{
	if (!t)
		return;
	perfetto_out_free(&t->out);
	lane_groups_free(&t->groups);
	free(t->sequences);
	free(t->known);
	perfetto_notes_clear(&t->notes);
	free(t);
}

DEFINE_CLEANUP(struct perfetto_trace *, trace_free);

static struct perfetto_trace *trace_new(struct recording_view *v, FILE *out, struct fault *f)
{
	struct perfetto_trace *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->out = (struct perfetto_out){ .out = out, .f = f };
	t->host = recording_host(v);
	t->sources = recording_sources(v, &t->n_sources);
	t->lanes = recording_lanes(v, &t->n_lanes);
	t->base = hash(t->host->hostname) ^ (uint64_t)t->host->start_ns;
	t->sequences = calloc(t->n_lanes + 1, sizeof(*t->sequences));
	t->known = calloc(t->n_lanes + 1, sizeof(*t->known));
	if (!t->sequences || !t->known || lane_groups_new(t->lanes, t->n_lanes, &t->groups)) {
		trace_free(t);
		return NULL;
	}
	return t;
}

int perfetto_write(struct recording_view *v, const struct recording_select *s, FILE *out, struct fault *f)
{
	CLEANUP(trace_free_ptr) struct perfetto_trace *t = trace_new(v, out, f);
	int err, flushed;

	if (!t)
		return fault(f, -ENOMEM, EXIT_FAILED, "no memory for the trace");
	err = put_clock(t);
	if (!err)
		err = put_system(t);
	if (!err)
		err = perfetto_counters(t, v, s);
	if (!err)
		err = perfetto_slow_ticks(t, v, s);
	if (!err)
		err = perfetto_spans(t, v, s);
	if (err && err != -EINTR)
		return err;
	flushed = output_flush(out, f);
	return flushed ? flushed : err;
}
