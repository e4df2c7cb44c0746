/* SPDX-License-Identifier: BSD-2-Clause */
/* child.c - see child.h. */
#include "cmd/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STATUS_CANNOT_EXEC 126 /* as shells have it */
#define STATUS_NOT_FOUND 127
#define STATUS_SIGNAL 128

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

int child_spawn(struct child *ch, char **argv, bool keep_stdout, struct fault *f)
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

int child_release(struct child *ch, const char *name, struct fault *f)
{
	int exec_errno = 0;

	close(ch->go_fd);
	ch->go_fd = -1;
	if (read(ch->exec_fd, &exec_errno, sizeof(exec_errno)) == sizeof(exec_errno))
		return fault(f, -exec_errno, EXIT_FAILED, "'%s' can't be run: %s", name, strerror(exec_errno));
	return 0;
}

static int wait_status(const struct child *ch)
{
	int status;

	if (ch->pid <= 0)
		return EXIT_FAILED;
	while (waitpid(ch->pid, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_FAILED;
	return WIFSIGNALED(status) ? STATUS_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

bool child_could_not_start(int status)
{
	return status == STATUS_NOT_FOUND || status == STATUS_CANNOT_EXEC;
}

int child_end(struct child *ch)
{
	int status;

	if (ch->go_fd >= 0 && ch->pid > 0)
		kill(ch->pid, SIGKILL); /* never started */
	status = wait_status(ch);
	if (ch->go_fd >= 0)
		close(ch->go_fd);
	if (ch->exec_fd >= 0)
		close(ch->exec_fd);
	if (ch->pidfd >= 0)
		close(ch->pidfd);
	return status;
}
