/* SPDX-License-Identifier: BSD-2-Clause */
/* export_own.c - see export_own.h. What can't be had is left out, as METRICS_OWN_MAX is far away. */
#include "cmd/export_own.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/cleanup.h"

void export_own_build(struct metrics *m)
{
	static const struct metric_family build = { "loopscope_build", "", METRIC_INFO, "Which program this is, and the kernel below it." };
	struct utsname u = {};
	struct metric_label labels[] = { { "version", LOOPSCOPE_VERSION }, { "kernel", u.release }, { "machine", u.machine } };

	uname(&u);
	metrics_own(m, &build, labels, ARRAY_SIZE(labels), 1);
}

void export_own_feature(struct metrics *m, const char *feature, bool on)
{
	static const struct metric_family features = { "loopscope_feature", "", METRIC_GAUGE, "1 for what is measured here, 0 for what is not." };
	const struct metric_label label = { "feature", feature };

	metrics_own(m, &features, &label, 1, on);
}

static double cpu_seconds(void)
{
	struct rusage u = {};

	getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec + ((double)u.ru_utime.tv_usec + (double)u.ru_stime.tv_usec) / 1e6;
}

/* Resident now, not at its most. */
static double memory_bytes(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/statm", "re");
	unsigned long resident;

	if (!f || fscanf(f, "%*u %lu", &resident) != 1)
		return -1;
	return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

void export_own_count(struct metrics *m, const struct export_own_readings *r)
{
	static const struct metric_family cpu = { "loopscope_observer_cpu_seconds", "seconds", METRIC_COUNTER,
						  "CPU time of this program itself; what observing takes from loops is in loopscope_loop_observer_seconds." },
		memory = { "loopscope_observer_memory_bytes", "bytes", METRIC_GAUGE, "Memory of this program itself." },
		readings = { "loopscope_readings", "", METRIC_COUNTER, "Readings of all loops." },
		seconds = { "loopscope_reading_seconds", "seconds", METRIC_COUNTER, "Time that readings of all loops took." };
	double bytes = memory_bytes();

	metrics_own(m, &cpu, NULL, 0, cpu_seconds());
	if (bytes >= 0)
		metrics_own(m, &memory, NULL, 0, bytes);
	metrics_own(m, &readings, NULL, 0, (double)r->n);
	metrics_own(m, &seconds, NULL, 0, (double)r->ns / 1e9);
}
