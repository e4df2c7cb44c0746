/* SPDX-License-Identifier: BSD-2-Clause */
/* attach.c - `loopscope attach`: the loops of running processes, interval by interval. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/observe.h"
#include "lib/cleanup.h"
#include "lib/options.h"
#include "registry/proc.h"

struct attach_config {
	struct opt_pids pids;
	struct opt_strings names;
	uint64_t interval_ns, duration_ns, count;
	int format, sort;
	const char *columns;
	bool all;
};

enum { ENDS_BY = 1 };

static const struct opt_spec specs[] = {
	{ 'p', "pid", OPT_PIDS, offsetof(struct attach_config, pids), "PID", "process to watch, all its threads", NULL, 0, 0, 0 },
	{ 'n', "name", OPT_STRINGS, offsetof(struct attach_config, names), "NAME",
	  "processes of that name, now running; * and ? are wildcards", NULL, 0, 0, 0 },
	{ 'i', "interval", OPT_DURATION, offsetof(struct attach_config, interval_ns), "TIME",
	  "time between reports (default 1s)", NULL, 0, 10000000, 0 },
	{ 'c', "count", OPT_COUNT, offsetof(struct attach_config, count), "N", "end after N reports", NULL, ENDS_BY, 1, 0 },
	{ 'd', "duration", OPT_DURATION, offsetof(struct attach_config, duration_ns), "TIME", "end after that time", NULL,
	  ENDS_BY, 10000000, 0 },
	{ 's', "sort", OPT_CHOICE, offsetof(struct attach_config, sort), "KEY",
	  "order within a report, largest first (default load)", observe_sorts, 0, 0, 0 },
	{ 'a', "all", OPT_FLAG, offsetof(struct attach_config, all), NULL,
	  "also threads that waited for IO but are not known to be loops", NULL, 0, 0, 0 },
	{ 'o', "output", OPT_CHOICE, offsetof(struct attach_config, format), "FORMAT",
	  "table for people (default), json for programs: one object a line", observe_formats, 0, 0, 0 },
	{ 0, "columns", OPT_STRING, offsetof(struct attach_config, columns), "LIST",
	  "columns of the table: names, separated by commas; +NAME adds to the default; all. "
	  "'--columns help' lists them", NULL, 0, 0, 0 },
	{ 0 },
};

static const struct opt_usage usage = {
	.command = "attach",
	.synopsis = "-p PID [options]",
	.about = "Watches the event loops of running processes and reports each interval how loaded they are and why. Loops and "
		 "threads that appear later are picked up. It ends when the processes do, or with Ctrl-C, which prints the rest.",
	.examples = "  loopscope attach -p 4711                 until Ctrl-C\n"
		    "  loopscope attach -n redis-server -i 5s   every process of that name\n"
		    "  loopscope attach -p 4711 -i 1 -c 5 -o json\n",
};

struct attach {
	struct observation *ob;
	size_t n_alive;
};

static int add_pid(pid_t **pids, size_t *n, pid_t pid, struct fault *f)
{
	pid_t *p;

	for (size_t i = 0; i < *n; i++)
		if ((*pids)[i] == pid)
			return 0;
	p = reallocarray(*pids, *n + 1, sizeof(*p));
	if (!p)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	p[(*n)++] = pid;
	*pids = p;
	return 0;
}

static int check_pid(pid_t pid, struct fault *f)
{
	struct proc_info info;
	int err = proc_info_read(pid, &info);

	if (err)
		return fault(f, err, EXIT_FAILED, "there is no process %d; 'loopscope scan' lists the loops that run now", pid);
	if (info.kernel_thread)
		return fault(f, -EINVAL, EXIT_FAILED, "%d is a kernel thread, which has no event loop of this kind; give a program's PID",
			     pid);
	if (info.tgid != pid)
		return fault(f, -EINVAL, EXIT_FAILED, "%d is a thread of process %d; use -p %d, which watches all its threads", pid,
			     info.tgid, info.tgid);
	return 0;
}

static int find_by_names(const struct opt_strings *names, pid_t **pids, size_t *n, struct fault *f)
{
	for (size_t i = 0; i < names->n; i++) {
		_cleanup_free_ pid_t *found = NULL;
		size_t n_found = 0;
		int err = proc_find_by_name(names->v[i], &found, &n_found);

		if (err)
			return fault(f, err, EXIT_FAILED, "/proc can't be read: %s", strerror(-err));
		if (!n_found)
			return fault(f, -ESRCH, EXIT_FAILED, "no process is named '%s'; 'loopscope scan' lists the loops that run now",
				     names->v[i]);
		for (size_t j = 0; j < n_found && !err; j++)
			err = add_pid(pids, n, found[j], f);
		if (err)
			return err;
	}
	return 0;
}

static int collect_pids(const struct attach_config *c, pid_t **pids, size_t *n, struct fault *f)
{
	int err;

	if (!c->pids.n && !c->names.n)
		return fault(f, -EINVAL, EXIT_USAGE,
			     "attach: which process? Give -p PID or -n NAME; 'loopscope scan' lists the loops that run now");
	for (size_t i = 0; i < c->pids.n; i++) {
		err = check_pid(c->pids.v[i], f);
		if (!err)
			err = add_pid(pids, n, c->pids.v[i], f);
		if (err)
			return err;
	}
	return find_by_names(&c->names, pids, n, f);
}

/* A pidfd turns readable when the process ends. */
static int on_process_end(void *arg, int fd, uint32_t events)
{
	struct attach *a = arg;

	if (a->n_alive && !--a->n_alive)
		observation_stop(a->ob);
	return 0;
}

struct watch {
	int fd;
	struct ev_source *source;
};

static int watch_end(struct attach *a, struct evloop *loop, pid_t pid, struct watch *w, struct fault *f)
{
	w->fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (w->fd < 0)
		return errno == ESRCH ? 0 : fault(f, -errno, EXIT_FAILED, "process %d can't be watched: %s", pid, strerror(errno));
	a->n_alive++;
	return evloop_add_fd(loop, w->fd, EPOLLIN | EPOLLONESHOT, on_process_end, a, &w->source);
}

static int observe(const struct attach_config *c, const pid_t *pids, size_t n_pids, struct fault *f)
{
	struct observe_options o = {
		.source = { .pids = pids, .n_pids = n_pids, .only_pids = true },
		.out = stdout,
		.format = c->format,
		.sort = c->sort,
		.layout = TABLE_REPEAT,
		.columns = c->columns,
		.show_asleep = true,
		.show_all = c->all,
	};
	struct observe_pace pace = { .interval_ns = c->interval_ns, .duration_ns = c->duration_ns, .count = c->count };
	struct watch *watches = calloc(n_pids, sizeof(*watches));
	struct attach a = {};
	struct evloop *loop = NULL;
	size_t n = 0;
	int err;

	if (!watches)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	err = evloop_new(&loop);
	if (!err)
		err = observation_open(&o, &a.ob, f);
	for (; n < n_pids && !err; n++)
		err = watch_end(&a, loop, pids[n], &watches[n], f);
	if (!err && !a.n_alive)
		err = fault(f, -ESRCH, EXIT_FAILED, "the process has just ended; nothing is left to watch");
	if (!err)
		err = observation_run(a.ob, loop, &pace, f);
	if (!err && !a.n_alive)
		fprintf(stderr, "loopscope: %s ended; nothing is left to watch\n", n_pids == 1 ? "the process has" : "all processes have");
	for (size_t i = 0; i < n; i++) {
		evloop_remove(loop, watches[i].source);
		if (watches[i].fd >= 0)
			close(watches[i].fd);
	}
	free(watches);
	observation_close(a.ob);
	evloop_free(loop);
	return err ? fault(f, err, EXIT_FAILED, "the event loop can't be set up") : 0;
}

static int attach(const struct attach_config *c, struct fault *f)
{
	_cleanup_free_ pid_t *pids = NULL;
	size_t n = 0;
	int err = collect_pids(c, &pids, &n, f);

	return err ? err : observe(c, pids, n, f);
}

static int run(int argc, char **argv)
{
	struct attach_config c = { .interval_ns = 1000000000ull };
	struct fault f = {};
	int operand, err = options_parse(&usage, specs, &c, argc, argv, &operand, &f);

	if (err == OPTIONS_HELP_SHOWN)
		err = 0;
	else if (!err && !observe_columns_help(c.columns))
		err = attach(&c, &f);
	options_release(specs, &c);
	return observe_exit(err, &f);
}

const struct command cmd_attach = { "attach", "the loops of running processes, interval by interval", run };
