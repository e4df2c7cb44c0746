/* SPDX-License-Identifier: BSD-2-Clause */
/* serial_tty.c - see serial_tty.h. */
#include "source/serial_tty.h"

#include <asm/termbits.h>
#include <errno.h>
#include <linux/serial.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <time.h>

#include "source/serial_port.h"

#define PULSE_NS 100000000
#define SETTLE_NS 50000000

static int in_use(const char *path, int err, struct fault *f)
{
	return fault(f, err, EXIT_FAILED, "%s is in use by another program: close that one first (fuser -v %s)", path, path);
}

/* TIOCEXCL keeps others from opening it (but not root); the lock keeps ourselves from being there twice. */
static int make_exclusive(int fd, const char *path, struct fault *f)
{
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return in_use(path, -EBUSY, f);
	if (ioctl(fd, TIOCEXCL) < 0 && errno == EBUSY)
		return in_use(path, -EBUSY, f);
	return 0;
}

/* Asks the driver not to wait for more bytes: FTDI adapters hold them for 16 ms by default. Not all drivers know it. */
static bool ask_low_latency(int fd)
{
	struct serial_struct s;

	if (ioctl(fd, TIOCGSERIAL, &s) < 0)
		return false;
	s.flags |= ASYNC_LOW_LATENCY;
	return ioctl(fd, TIOCSSERIAL, &s) == 0;
}

static void save(struct serial_tty *t, const struct termios2 *io)
{
	t->saved = true;
	t->iflag = io->c_iflag;
	t->oflag = io->c_oflag;
	t->cflag = io->c_cflag;
	t->lflag = io->c_lflag;
	t->ispeed = io->c_ispeed;
	t->ospeed = io->c_ospeed;
	t->vmin = io->c_cc[VMIN];
	t->vtime = io->c_cc[VTIME];
}

static int make_raw(int fd, const char *path, unsigned baud, struct serial_tty *t, struct fault *f)
{
	struct termios2 io;

	if (ioctl(fd, TCGETS2, &io) < 0)
		return fault(f, -errno, EXIT_FAILED, "%s does not answer as a serial port: %s", path, strerror(errno));
	save(t, &io);
	io.c_iflag = 0;
	io.c_oflag = 0;
	io.c_lflag = 0;
	io.c_cflag = (io.c_cflag & ~(CBAUD | (CBAUD << IBSHIFT) | CSIZE | CSTOPB | PARENB | CRTSCTS | HUPCL)) | CS8 | CREAD |
		     CLOCAL | BOTHER | (BOTHER << IBSHIFT);
	io.c_ispeed = io.c_ospeed = baud;
	io.c_cc[VMIN] = 1;
	io.c_cc[VTIME] = 0;
	if (ioctl(fd, TCSETS2, &io) < 0)
		return fault(f, -errno, EXIT_FAILED, "%s refuses %u baud: %s; try another rate with --baud", path, baud,
			     strerror(errno));
	/* Drivers take the nearest rate that they can make and say so only on being asked. Beyond 3 % bytes break. */
	if (ioctl(fd, TCGETS2, &io) == 0 && io.c_ospeed &&
	    (io.c_ospeed > baud + baud / 32 || io.c_ospeed < baud - baud / 32))
		return fault(f, -EINVAL, EXIT_FAILED, "%s cannot do %u baud, the nearest is %u: give that to --baud and to the board",
			     path, baud, io.c_ospeed);
	return 0;
}

int serial_tty_take(int fd, const char *path, unsigned baud, struct serial_tty *ret, struct fault *f)
{
	struct serial_tty t = { 0 };
	int err;

	if (baud == 0 || baud > SERIAL_BAUD_MAX)
		return fault(f, -ERANGE, EXIT_USAGE, "%u baud: 1 to %u are possible", baud, SERIAL_BAUD_MAX);
	err = make_exclusive(fd, path, f);
	if (err == 0)
		err = make_raw(fd, path, baud, &t, f);
	if (err < 0) {
		serial_tty_leave(fd, &t);
		return err;
	}
	t.low_latency = ask_low_latency(fd);
	*ret = t;
	return 0;
}

void serial_tty_leave(int fd, const struct serial_tty *t)
{
	struct termios2 io;

	if (!t->saved) /* never was ours: another's claim stands */
		return;
	ioctl(fd, TIOCNXCL);
	if (ioctl(fd, TCGETS2, &io) < 0)
		return;
	io.c_iflag = t->iflag;
	io.c_oflag = t->oflag;
	io.c_cflag = t->cflag & ~HUPCL;
	io.c_lflag = t->lflag;
	io.c_ispeed = t->ispeed;
	io.c_ospeed = t->ospeed;
	io.c_cc[VMIN] = t->vmin;
	io.c_cc[VTIME] = t->vtime;
	ioctl(fd, TCSETS2, &io);
}

static int lines(int fd, unsigned long what, int which)
{
	return ioctl(fd, what, &which) < 0 ? -errno : 0;
}

int serial_tty_reset_board(int fd, const char *path, struct fault *f)
{
	const struct timespec pulse = { .tv_nsec = PULSE_NS }, settle = { .tv_nsec = SETTLE_NS };
	int err = lines(fd, TIOCMBIC, TIOCM_DTR);

	if (err < 0)
		return fault(f, err, EXIT_FAILED, "%s has no DTR line: reset the board by its button", path);
	lines(fd, TIOCMBIS, TIOCM_RTS); /* DTR off, RTS on: ESP boards are held in reset */
	nanosleep(&pulse, NULL);
	lines(fd, TIOCMBIC, TIOCM_RTS); /* and run from here */
	nanosleep(&settle, NULL);
	lines(fd, TIOCMBIS, TIOCM_DTR | TIOCM_RTS); /* DTR's edge resets the others; both on is rest for all */
	return 0;
}
