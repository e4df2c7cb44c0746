/* SPDX-License-Identifier: BSD-2-Clause */
/* run.c - `loopscope run -- CMD`: starts a command, watches its loops and those of its children, passes its status on. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/observe.h"
#include "lib/cleanup.h"
#include "lib/options.h"

#define STATUS_CANNOT_EXEC 126 /* as shells have it */
#define STATUS_NOT_FOUND 127
#define STATUS_SIGNAL 128

struct run_config {
	uint64_t interval_ns;
	int format, sort;
	const char *columns, *report;
	bool all;
};

static const struct opt_spec specs[] = {
	{ 'i', "interval", OPT_DURATION, offsetof(struct run_config, interval_ns), "TIME",
	  "time between reports (default: one report, when the command ends)", NULL, 0, 10000000, 0 },
	{ 's', "sort", OPT_CHOICE, offsetof(struct run_config, sort), "KEY",
	  "order within a report, largest first (default load)", observe_sorts, 0, 0, 0 },
	{ 'a', "all", OPT_FLAG, offsetof(struct run_config, all), NULL,
	  "also threads that waited for IO but are not known to be loops", NULL, 0, 0, 0 },
	{ 'o', "output", OPT_CHOICE, offsetof(struct run_config, format), "FORMAT",
	  "table for people (default), json for programs: one object a line", observe_formats, 0, 0, 0 },
	{ 'r', "report", OPT_STRING, offsetof(struct run_config, report), "FILE",
	  "write the report there and leave the command its stdout; without it the report has stdout to itself, and "
	  "what the command prints goes to stderr", NULL, 0, 0, 0 },
	{ 0, "columns", OPT_STRING, offsetof(struct run_config, columns), "LIST",
	  "columns of the table: names, separated by commas; +NAME adds to the default; all. "
	  "'--columns help' lists them", NULL, 0, 0, 0 },
	{ 0 },
};

static const struct opt_usage usage = {
	.command = "run",
	.synopsis = "[options] -- CMD [ARG ...]",
	.about = "Starts a command and watches its event loops, and those of the processes that it starts, from their first wait "
		 "on. The command's exit status is passed through; 128 + N if signal N ended it.",
	.examples = "  loopscope run -- node server.js\n"
		    "  loopscope run -i 1s -o json -r load.ndjson -- python3 app.py\n",
	.stop_at_operand = true,
	.max_operands = -1,
};

struct child {
	pid_t pid;
	int pidfd;
	int go_fd;    /* closed by us when it may exec */
	int exec_fd;  /* tells errno if exec fails; closed by exec */
	bool ended;
	struct observation *ob;
};

/* In the child: waits until it is watched, then becomes the command. */
static void become(char **argv, int go_fd, int exec_fd, bool keep_stdout)
{
	char c;
	int err;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* until exec: it must not stay behind unwatched and unstarted */
	while (read(go_fd, &c, 1) < 0 && errno == EINTR)
		;
	prctl(PR_SET_PDEATHSIG, 0);
	signal(SIGPIPE, SIG_DFL); /* as a shell would have started it */
	if (!keep_stdout)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	execvp(argv[0], argv);
	err = errno;
	if (write(exec_fd, &err, sizeof(err)) < 0)
		_exit(STATUS_CANNOT_EXEC);
	_exit(err == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_EXEC);
}

static int spawn(struct child *ch, char **argv, bool keep_stdout, struct fault *f)
{
	int go[2], ex[2];

	if (pipe2(go, O_CLOEXEC))
		return fault(f, -errno, EXIT_FAILED, "the command can't be started: %s", strerror(errno));
	if (pipe2(ex, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return fault(f, -errno, EXIT_FAILED, "the command can't be started: %s", strerror(errno));
	}
	ch->pid = fork();
	if (ch->pid == 0) {
		close(go[1]);
		close(ex[0]);
		become(argv, go[0], ex[1], keep_stdout);
	}
	close(go[0]);
	close(ex[1]);
	ch->go_fd = go[1];
	ch->exec_fd = ex[0];
	if (ch->pid < 0)
		return fault(f, -errno, EXIT_FAILED, "the command can't be started: %s", strerror(errno));
	ch->pidfd = (int)syscall(SYS_pidfd_open, ch->pid, 0);
	if (ch->pidfd < 0)
		return fault(f, -errno, EXIT_FAILED, "the command can't be watched: %s", strerror(errno));
	return 0;
}

static int release(struct child *ch, const char *name, struct fault *f)
{
	int exec_errno = 0;

	close(ch->go_fd);
	ch->go_fd = -1;
	if (read(ch->exec_fd, &exec_errno, sizeof(exec_errno)) == sizeof(exec_errno))
		return fault(f, -exec_errno, EXIT_FAILED, "'%s' can't be run: %s", name, strerror(exec_errno));
	return 0;
}

static int on_child_end(void *arg, int fd, uint32_t events)
{
	struct child *ch = arg;

	ch->ended = true;
	observation_stop(ch->ob);
	return 0;
}

/* The command gets the signals of the terminal itself; SIGTERM, sent to us alone, is passed on. Then it ends as it likes. */
static int on_signal(void *arg, int signo)
{
	struct child *ch = arg;

	if (signo == SIGTERM)
		kill(ch->pid, SIGTERM);
	return 0;
}

static int wait_status(struct child *ch)
{
	int status;

	if (ch->pid <= 0)
		return EXIT_FAILED;
	while (waitpid(ch->pid, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_FAILED;
	return WIFSIGNALED(status) ? STATUS_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

static int watch(const struct run_config *c, struct child *ch, FILE *out, char **argv, struct fault *f)
{
	struct observe_options o = {
		.source = { .only_pids = true, .follow_children = true, .slow_ns = 50000000, .budget = 0.02 },
		.out = out,
		.format = c->format,
		.sort = c->sort,
		.layout = c->interval_ns ? TABLE_REPEAT : TABLE_ONCE,
		.columns = c->columns,
		.show_asleep = true,
		.show_all = c->all,
	};
	struct observe_pace pace = { .interval_ns = c->interval_ns, .ignore_signals = true };
	struct ev_source *end = NULL;
	struct evloop *loop = NULL;
	int err = observation_open(&o, &ch->ob, f);

	if (!err)
		err = kernel_source_watch(observation_source(ch->ob), ch->pid, true, f);
	if (!err) /* before it starts: a short run has no time to lose */
		err = kernel_source_measure(observation_source(ch->ob), f);
	if (!err)
		err = release(ch, argv[0], f);
	if (!err)
		err = evloop_new(&loop);
	if (!err)
		err = evloop_add_fd(loop, ch->pidfd, EPOLLIN | EPOLLONESHOT, on_child_end, ch, &end);
	if (!err)
		err = evloop_add_signal(loop, SIGINT, on_signal, ch);
	if (!err)
		err = evloop_add_signal(loop, SIGTERM, on_signal, ch);
	if (!err)
		err = observation_run(ch->ob, loop, &pace, f);
	evloop_remove(loop, end);
	evloop_free(loop);
	observation_close(ch->ob);
	return err ? fault(f, err, EXIT_FAILED, "the event loop can't be set up") : 0;
}

static int start(const struct run_config *c, char **argv, int *ret_status, struct fault *f)
{
	struct child ch = { .pidfd = -1, .go_fd = -1, .exec_fd = -1 };
	_cleanup_fclose_ FILE *report = NULL;
	int err;

	if (c->report) {
		report = fopen(c->report, "we");
		if (!report)
			return fault(f, -errno, EXIT_FAILED, "%s can't be written: %s", c->report, strerror(errno));
	}
	err = spawn(&ch, argv, c->report != NULL, f);
	if (!err)
		err = watch(c, &ch, report ? report : stdout, argv, f);
	if (ch.go_fd >= 0 && ch.pid > 0)
		kill(ch.pid, SIGKILL); /* never started */
	*ret_status = wait_status(&ch);
	if (ch.go_fd >= 0)
		close(ch.go_fd);
	if (ch.exec_fd >= 0)
		close(ch.exec_fd);
	if (ch.pidfd >= 0)
		close(ch.pidfd);
	return err;
}

static int run(int argc, char **argv)
{
	struct run_config c = {};
	struct fault f = {};
	int operand, status = EXIT_DONE, err = options_parse(&usage, specs, &c, argc, argv, &operand, &f);

	if (err == OPTIONS_HELP_SHOWN || (!err && observe_columns_help(c.columns))) {
		options_release(specs, &c);
		return EXIT_DONE;
	}
	if (!err && operand == argc)
		err = fault(&f, -EINVAL, EXIT_USAGE, "run: which command? Write loopscope run -- CMD [ARG ...]");
	if (!err)
		err = start(&c, argv + operand, &status, &f);
	options_release(specs, &c);
	if (!err || err == -EPIPE)
		return status;
	fault_report(&f);
	return status == STATUS_NOT_FOUND || status == STATUS_CANNOT_EXEC ? status : (int)f.status;
}

const struct command cmd_run = { "run", "starts a command and watches its loops", run };
