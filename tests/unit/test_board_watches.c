/* SPDX-License-Identifier: BSD-2-Clause */
/* test_board_watches.c - several boards on one event loop: names, ends, absences, and stretches on the host's clock. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/board_watches.h"
#include "lib/cleanup.h"
#include "model/source_record.h"
#include "test_serial_fixture.h"

TestSuite(board_watches, .timeout = 60);

DEFINE_CLEANUP(struct board_watches *, board_watches_free);
DEFINE_CLEANUP(struct evloop *, evloop_free);

#define BOARDS_MAX 4
#define TURN_NS 20000000ull

/* A sink and an event loop that goes on until a condition holds. */
struct rig {
	struct sink sink;
	struct evloop *loop;
	struct board_watches *boards;
	struct fault f;
	int master;
	char port[64];
	/* of each board's last report */
	bool present[BOARDS_MAX];
	char protocol[BOARDS_MAX][16];
	size_t n_sessions, n_ends, n_troubles;
	char trouble[512];
	/* stretches */
	size_t n_stretches, n_placed, n_exact, n_backwards;
	uint64_t last_end;
	bool (*done)(struct rig *r);
};

static unsigned number(const char *label)
{
	cr_assert_eq(strncmp(label, "board", 5), 0, "%s", label);
	return (unsigned)atoi(label + 5);
}

static int on_interval(struct sink *s, const struct interval *iv, struct fault *f)
{
	struct rig *r = (struct rig *)s;
	const struct source_record *src = iv->sources;
	unsigned i = number(src->loop);

	cr_assert_eq(iv->n_sources, 1u);
	r->present[i] = src->present;
	snprintf(r->protocol[i], sizeof(r->protocol[i]), "%s", src->protocol);
	return 0;
}

static int on_loop_event(struct sink *s, const struct loop_event *e, struct fault *f)
{
	struct rig *r = (struct rig *)s;

	r->n_sessions += e->kind == EVENT_LOOP_START;
	r->n_ends += e->kind == EVENT_LOOP_STOP;
	return 0;
}

static void keep_open(struct sink *s)
{
}

static const struct sink_ops ops = { .name = "test", .interval = on_interval, .event = on_loop_event, .free = keep_open };

static int on_turn(void *arg, uint64_t expirations)
{
	struct rig *r = arg;
	int err = board_watches_report(r->boards, false);

	if (r->done(r))
		evloop_stop(r->loop);
	return err;
}

static void on_trouble(void *arg, const struct fault *why)
{
	struct rig *r = arg;

	r->n_troubles++;
	snprintf(r->trouble, sizeof(r->trouble), "%s", why->text);
}

static int on_stretch(void *arg, const char *label, const struct board_stretch *s)
{
	struct rig *r = arg;
	int64_t end;

	r->n_stretches++;
	if (s->edge->end < r->last_end)
		r->n_backwards++;
	r->last_end = s->edge->end;
	if (s->clock->method == CLOCK_NONE)
		return 0;
	end = clock_fit_host(s->clock, ticks_to_ns(s->edge->end, s->edge->hz));
	r->n_placed++;
	if (strcmp(r->protocol[number(label)], "monitor") == 0) {
		cr_assert_eq(end, (int64_t)s->arrival_ns);
		r->n_exact++;
	}
	return 0;
}

static void set_up(struct rig *r, const char *const *ports, size_t n)
{
	struct board_watch_options o = {
		.line = { .baud = 115200, .sync_ns = 1000000000ull, .wishes = { .rate = -1 }, .trouble = on_trouble },
		.stretch = on_stretch, .arg = r,
	};

	r->sink.ops = &ops;
	cr_assert_eq(evloop_new(&r->loop), 0);
	cr_assert_eq(board_watches_open(ports, n, &o, &r->boards, &r->f), 0, "%s", r->f.text);
	cr_assert_eq(board_watches_count(r->boards), n);
	cr_assert_eq(board_watches_start(r->boards, &r->sink, r->loop, &r->f), 0, "%s", r->f.text);
	cr_assert_eq(evloop_add_timer(r->loop, TURN_NS, TURN_NS, on_turn, r, NULL), 0);
}

static void until(struct rig *r, bool (*done)(struct rig *r))
{
	r->done = done;
	cr_assert_eq(evloop_run(r->loop), 0, "%s", r->f.text);
}

static void tear_down(struct rig *r)
{
	board_watches_free(r->boards);
	evloop_free(r->loop);
}

static void new_pty(struct rig *r)
{
	r->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	cr_assert_geq(r->master, 0);
	cr_assert_eq(grantpt(r->master), 0);
	cr_assert_eq(unlockpt(r->master), 0);
	cr_assert_eq(ptsname_r(r->master, r->port, sizeof(r->port)), 0);
}

static void send_stream(struct rig *r, const char *name)
{
	size_t n;
	_cleanup_free_ uint8_t *data = serial_data(name, &n);

	/* What does not fit the line is not sent. */
	cr_assert_gt(write(r->master, data, n < 4096 ? n : 4096), 100);
}

static int refused(const char *const *ports, size_t n, char text[512])
{
	struct board_watch_options o = { .line = { .baud = 115200 } };
	struct board_watches *b = NULL;
	struct fault f = {};
	int err = board_watches_open(ports, n, &o, &b, &f);

	snprintf(text, 512, "%s", f.text);
	cr_assert(err < 0 ? f.status == EXIT_USAGE : !*f.text);
	board_watches_free(b);
	return err;
}

Test(board_watches, names)
{
	char text[512], path[300];
	CLEANUP(board_watches_free_ptr) struct board_watches *b = NULL;
	struct board_watch_options o = { .line = { .baud = 115200 } };
	struct fault f = {};

	snprintf(path, sizeof(path), "left=%s/tests/data/serial/tonband-a.bin", LOOPSCOPE_SRCDIR);
	cr_assert_eq(board_watches_open((const char *const[]){ "/dev/null", path, "./no=port", "tcp:a=b:1" }, 3, &o, &b, &f), 0, "%s", f.text);
	cr_assert_str_eq(board_watch_label(board_watches_get(b, 0)), "board0");
	cr_assert_str_eq(board_watch_label(board_watches_get(b, 1)), "left");
	cr_assert_str_eq(board_watch_label(board_watches_get(b, 2)), "board2", "a path may hold an equals sign");

	cr_assert_eq(refused((const char *const[]){ "a=/dev/null", "a=/dev/zero" }, 2, text), -EINVAL);
	cr_assert_not_null(strstr(text, "NAME=PORT"), "%s", text);
	cr_assert_eq(refused((const char *const[]){ "board1=/dev/null", "/dev/zero" }, 2, text), -EINVAL, "board1 is taken");
	cr_assert_eq(refused((const char *const[]){ "=/dev/null" }, 1, text), -EINVAL);
	cr_assert_eq(refused((const char *const[]){ "a=" }, 1, text), -EINVAL);
	cr_assert_eq(refused((const char *const[]){ "tcp:nowhere" }, 1, text), -EINVAL, "what never can be is refused at once");
	cr_assert_eq(refused(NULL, 0, text), 0);
}

static bool all_known(struct rig *r)
{
	return r->protocol[0][0] && r->protocol[1][0] && !r->present[0];
}

static bool unplugged(struct rig *r)
{
	return !r->present[1];
}

static bool plugged_in(struct rig *r)
{
	return r->present[2];
}

static bool recognised(struct rig *r)
{
	return r->protocol[2][0];
}

static bool ended(struct rig *r)
{
	return !r->present[0];
}

/* A file that ends, a board that is unplugged, and one that is plugged in later. */
Test(board_watches, none_ends_the_others)
{
	struct rig r = {};
	char dir[] = "/tmp/loopscope-boards-XXXXXX", link[64], file[300];
	const char *ports[3] = { file, r.port, link };

	cr_assert_not_null(mkdtemp(dir));
	snprintf(link, sizeof(link), "%s/board", dir);
	snprintf(file, sizeof(file), "%s/tests/data/serial/tonband-a.bin", LOOPSCOPE_SRCDIR);
	new_pty(&r);
	set_up(&r, ports, 3);
	send_stream(&r, "systemview-a.bin");
	until(&r, all_known);
	cr_assert_str_eq(r.protocol[0], "tonbandgeraet");
	cr_assert_str_eq(r.protocol[1], "systemview");
	cr_assert(r.present[1] && !r.present[2]);
	cr_assert_eq(r.n_troubles, 1u, "that a port is not there is said once");
	cr_assert_not_null(strstr(r.trouble, link), "%s", r.trouble);
	cr_assert_eq(r.n_sessions, 2u);

	close(r.master);
	until(&r, unplugged);
	cr_assert_eq(r.n_ends, 2u);
	new_pty(&r);
	cr_assert_eq(symlink(r.port, link), 0);
	until(&r, plugged_in);
	send_stream(&r, "tonband-a.bin");
	until(&r, recognised);
	cr_assert_str_eq(r.protocol[2], "tonbandgeraet");
	cr_assert_eq(r.n_troubles, 1u);
	tear_down(&r);
	unlink(link);
	rmdir(dir);
	close(r.master);
}

static bool lives_on_hosts_clock(struct rig *r)
{
	return r->n_exact >= 3;
}

static bool first_is_known(struct rig *r)
{
	return r->protocol[0][0];
}

/* micropython-monitor sends no time: its stretches are where their bytes arrived. */
Test(board_watches, lifetimes_are_on_the_hosts_clock)
{
	struct rig r = {};
	const char *ports[1] = { r.port };

	new_pty(&r);
	set_up(&r, ports, 1);
	for (int i = 0; i < 40; i++)
		cr_assert_eq(write(r.master, i ? "ABab" : "z@`C", 4), 4);
	until(&r, first_is_known);
	cr_assert_eq(write(r.master, "AaBbAa", 6), 6);
	until(&r, lives_on_hosts_clock);
	cr_assert_eq(r.n_placed, r.n_stretches);
	cr_assert_eq(r.n_backwards, 0u);
	tear_down(&r);
	close(r.master);
}

/* From a file only the board's own time is known. */
Test(board_watches, a_file_has_no_host_time)
{
	struct rig r = {};
	char file[300];
	const char *ports[1] = { file };

	snprintf(file, sizeof(file), "%s/tests/data/serial/tonband-a.bin", LOOPSCOPE_SRCDIR);
	set_up(&r, ports, 1);
	until(&r, ended);
	cr_assert_gt(r.n_stretches, 100u);
	cr_assert_eq(r.n_placed, 0u);
	cr_assert_eq(r.n_backwards, 0u);
	tear_down(&r);
}
