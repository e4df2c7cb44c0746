/* SPDX-License-Identifier: BSD-2-Clause */
/* test_serial_port.c - ports on ptys: raw, exclusive, any rate, away and back; connections and files. */
#include <arpa/inet.h>
#include <asm/termbits.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "source/serial_port.h"

TestSuite(serial_port, .timeout = 60);

DEFINE_CLEANUP(struct serial_port *, serial_port_free);
#define _cleanup_port_ CLEANUP(serial_port_free_ptr)

struct pty {
	int master;
	char path[64];
};

static struct pty new_pty(void)
{
	struct pty p = { .master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC) };

	cr_assert_geq(p.master, 0);
	cr_assert_eq(grantpt(p.master), 0);
	cr_assert_eq(unlockpt(p.master), 0);
	cr_assert_eq(ptsname_r(p.master, p.path, sizeof(p.path)), 0);
	return p;
}

static struct serial_port *open_port(const char *where, unsigned baud, const char *by_id)
{
	struct serial_port_options o = { .where = where, .baud = baud, .by_id = by_id };
	struct serial_port *p = NULL;
	struct fault f = { .text = "" };

	cr_assert_eq(serial_port_open(&o, &p, &f), 0, "%s", f.text);
	return p;
}

static int open_fails(const char *where, unsigned baud, bool reset, struct fault *f)
{
	struct serial_port_options o = { .where = where, .baud = baud, .reset = reset };
	struct serial_port *p = NULL;
	int err;

	f->text[0] = 0;
	err = serial_port_open(&o, &p, f);
	cr_assert_lt(err, 0, "%s opened", where);
	cr_assert_null(p);
	return err;
}

static size_t read_all(struct serial_port *p, uint8_t *buf, size_t want)
{
	size_t n = 0;

	while (n < want) {
		struct pollfd pfd = { .fd = serial_port_fd(p), .events = POLLIN };
		ssize_t got;

		cr_assert_eq(poll(&pfd, 1, 5000), 1, "nothing after %zu bytes", n);
		got = serial_port_read(p, buf + n, want - n);
		if (got == -EAGAIN)
			continue;
		cr_assert_gt(got, 0);
		n += (size_t)got;
	}
	return n;
}

/* What a hang-up looks like: reads end in -ENODEV. */
static void wait_gone(struct serial_port *p)
{
	uint8_t buf[64];
	ssize_t got = -EAGAIN;

	while (got > 0 || got == -EAGAIN) {
		struct pollfd pfd = { .fd = serial_port_fd(p), .events = POLLIN };

		cr_assert_eq(poll(&pfd, 1, 5000), 1);
		got = serial_port_read(p, buf, sizeof(buf));
	}
	cr_assert_eq(got, -ENODEV);
	cr_assert_eq(serial_port_fd(p), -1);
}

Test(serial_port, eight_bits_clean_both_ways)
{
	struct pty pty = new_pty();
	_cleanup_port_ struct serial_port *p = open_port(pty.path, 1000000, NULL);
	uint8_t all[256], got[256];

	for (int i = 0; i < 256; i++)
		all[i] = (uint8_t)i;
	cr_assert_eq(serial_port_kind(p), SERIAL_PORT_TTY);
	cr_assert(serial_port_is_live(p));
	cr_assert_eq(serial_port_read(p, got, sizeof(got)), -EAGAIN);
	cr_assert_eq(write(pty.master, all, sizeof(all)), 256);
	cr_assert_eq(read_all(p, got, 256), 256u);
	cr_assert_arr_eq(got, all, 256);
	cr_assert_eq(serial_port_write(p, all, 256, false), -EINVAL, "byte 03 is never sent");
	cr_assert_eq(serial_port_write(p, all, 256, true), 0);
	for (ssize_t n = 0; n < 256;)
		n += read(pty.master, got + n, (size_t)(256 - n));
	cr_assert_arr_eq(got, all, 256);
	cr_assert_eq(serial_port_byte_ns(p), 0u, "a pty carries bytes at once, whatever its baud rate says");
	close(pty.master);
}

Test(serial_port, any_rate_is_set_and_settings_are_given_back)
{
	static const unsigned rates[] = { 300, 115200, 1234567, 12000000 };
	struct pty pty = new_pty();
	struct termios2 before, io;
	int fd = open(pty.path, O_RDWR | O_NOCTTY | O_CLOEXEC);

	cr_assert_eq(ioctl(fd, TCGETS2, &before), 0);
	before.c_cflag |= HUPCL;
	cr_assert_eq(ioctl(fd, TCSETS2, &before), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		struct serial_port *p = open_port(pty.path, rates[i], NULL);

		cr_assert_eq(ioctl(fd, TCGETS2, &io), 0);
		cr_assert_eq(io.c_ospeed, rates[i]);
		cr_assert_eq(io.c_ispeed, rates[i]);
		cr_assert_eq(io.c_lflag & (ICANON | ECHO | ISIG), 0u);
		cr_assert_eq(io.c_iflag & (IXON | IXOFF | ICRNL | INLCR | ISTRIP | BRKINT), 0u);
		cr_assert_eq(io.c_oflag & OPOST, 0u);
		cr_assert_eq(io.c_cflag & (CSIZE | CSTOPB | PARENB | CRTSCTS | HUPCL | CLOCAL | CREAD), 
			     (unsigned)(CS8 | CLOCAL | CREAD));
		serial_port_free(p);
		cr_assert_eq(ioctl(fd, TCGETS2, &io), 0);
		cr_assert_eq(io.c_lflag, before.c_lflag);
		cr_assert_eq(io.c_iflag, before.c_iflag);
		cr_assert_eq(io.c_cflag & HUPCL, 0u, "closing must not drop DTR");
	}
	close(fd);
	close(pty.master);
}

Test(serial_port, exclusive)
{
	struct pty pty = new_pty();
	struct serial_port *p = open_port(pty.path, 0, NULL);
	struct fault f;

	cr_assert_eq(open_fails(pty.path, 0, false, &f), -EBUSY);
	cr_assert_not_null(strstr(f.text, "in use by another program"), "%s", f.text);
	cr_assert_eq(open_fails(pty.path, 0, false, &f), -EBUSY, "the failed attempt must not have given the claim away");
	serial_port_free(p);
	serial_port_free(open_port(pty.path, 0, NULL));
	close(pty.master);
}

Test(serial_port, unplugged_and_back_under_its_path)
{
	char dir[] = "/tmp/loopscope-port-XXXXXX", link[64];
	struct pty pty = new_pty();
	_cleanup_port_ struct serial_port *p = NULL;
	struct fault f = { .text = "" };
	uint8_t got[4];

	cr_assert_not_null(mkdtemp(dir));
	snprintf(link, sizeof(link), "%s/port", dir);
	cr_assert_eq(symlink(pty.path, link), 0);
	p = open_port(link, 0, dir);
	close(pty.master);
	wait_gone(p);
	cr_assert_eq(serial_port_open_again(p, &f), -EAGAIN, "%s", f.text);
	cr_assert_eq(serial_port_write(p, (const uint8_t *)"~+\n", 3, false), -ENODEV);
	unlink(link);
	cr_assert_eq(serial_port_open_again(p, &f), -EAGAIN);
	pty = new_pty();
	cr_assert_eq(symlink(pty.path, link), 0);
	cr_assert_eq(serial_port_open_again(p, &f), 0, "%s", f.text);
	cr_assert_eq(write(pty.master, "back", 4), 4);
	read_all(p, got, 4);
	cr_assert_arr_eq(got, "back", 4);
	unlink(link);
	rmdir(dir);
	close(pty.master);
}

Test(serial_port, comes_back_under_another_number)
{
	char dir[] = "/tmp/loopscope-byid-XXXXXX", link[80];
	struct pty first = new_pty(), second = new_pty();
	_cleanup_port_ struct serial_port *p = NULL;
	struct fault f = { .text = "" };

	cr_assert_not_null(mkdtemp(dir));
	snprintf(link, sizeof(link), "%s/usb-Some_Board_123-if00", dir);
	cr_assert_eq(symlink(first.path, link), 0);
	p = open_port(first.path, 0, dir);
	cr_assert_str_eq(serial_port_name(p), link);
	close(first.master);
	wait_gone(p);
	/* Another board may be first.path by now; ours is where its own name points. */
	unlink(link);
	cr_assert_eq(symlink(second.path, link), 0);
	cr_assert_eq(serial_port_open_again(p, &f), 0, "%s", f.text);
	cr_assert_eq(serial_port_write(p, (const uint8_t *)"x", 1, false), 0);
	cr_assert_eq(read(second.master, link, 1), 1);
	snprintf(link, sizeof(link), "%s/usb-Some_Board_123-if00", dir);
	unlink(link);
	rmdir(dir);
	close(second.master);
}

static int listen_local(unsigned short *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(*port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	socklen_t len = sizeof(a);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	cr_assert_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	cr_assert_eq(listen(fd, 1), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	*port = ntohs(a.sin_port);
	return fd;
}

Test(serial_port, tcp)
{
	unsigned short port = 0;
	int listener = listen_local(&port), peer;
	_cleanup_port_ struct serial_port *p = NULL;
	struct fault f = { .text = "" };
	char where[64];
	uint8_t got[8];

	snprintf(where, sizeof(where), "tcp:127.0.0.1:%u", port);
	p = open_port(where, 0, NULL);
	cr_assert_eq(serial_port_kind(p), SERIAL_PORT_TCP);
	cr_assert_eq(serial_port_byte_ns(p), 0u);
	peer = accept(listener, NULL, NULL);
	cr_assert_eq(write(peer, "\0\x01\xff", 3), 3);
	cr_assert_eq(read_all(p, got, 3), 3u);
	cr_assert_eq(serial_port_write(p, (const uint8_t *)"~n\n", 3, false), 0);
	cr_assert_eq(read(peer, got, 3), 3);
	close(peer);
	close(listener);
	wait_gone(p);
	cr_assert_eq(serial_port_open_again(p, &f), -EAGAIN);
	listener = listen_local(&port);
	cr_assert_eq(serial_port_open_again(p, &f), 0, "%s", f.text);
	close(listener);
}

Test(serial_port, file_is_read_to_its_end)
{
	_cleanup_port_ struct serial_port *p = open_port(LOOPSCOPE_SRCDIR "/tests/data/serial/monitor-a.bin", 0, NULL);
	struct fault f = { .text = "" };
	uint8_t buf[100];
	ssize_t n, total = 0;

	cr_assert_not(serial_port_is_live(p), "when a file is read says nothing of when its bytes came");
	while ((n = serial_port_read(p, buf, sizeof(buf))) > 0)
		total += n;
	cr_assert_eq(n, -ENODATA);
	cr_assert_eq(total, 331);
	cr_assert_eq(serial_port_write(p, buf, 1, false), -ENOTSUP);
	serial_port_read(p, buf, 1);
	cr_assert_eq(serial_port_open_again(p, &f), 0, "it never went away");
}

Test(serial_port, sentences_say_what_to_do)
{
	struct pty pty = new_pty();
	struct fault f;

	cr_assert_eq(open_fails("/dev/no-such-port", 0, false, &f), -ENOENT);
	cr_assert_not_null(strstr(f.text, "/dev/serial/by-id"), "%s", f.text);
	cr_assert_eq(open_fails("/dev", 0, false, &f), -EISDIR);
	cr_assert_eq(open_fails(pty.path, 50000000, false, &f), -ERANGE);
	cr_assert_eq(f.status, EXIT_USAGE);
	cr_assert_eq(open_fails("tcp:nowhere", 0, false, &f), -EINVAL);
	cr_assert_eq(open_fails("tcp:127.0.0.1:", 0, false, &f), -EINVAL);
	cr_assert_eq(open_fails("tcp:127.0.0.1:1", 0, false, &f), -ECONNREFUSED);
	cr_assert_eq(open_fails("-", 0, true, &f), -ENOTTY);
	cr_assert_lt(open_fails(pty.path, 0, true, &f), 0, "a pty has no DTR");
	cr_assert_not_null(strstr(f.text, "button"), "%s", f.text);
	close(pty.master);
}
