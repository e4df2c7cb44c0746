/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fault.c - see fault.h.
 */
#include "lib/fault.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/text.h"

#define CUT_MARK "..."

int fault(struct fault *f, int err, enum exit_status status, const char *fmt, ...)
{
	int saved_errno = errno; /* %m in fmt means the caller's errno */
	va_list ap;
	int n;

	if (!f || f->text[0])
		return err;

	f->status = status;
	va_start(ap, fmt);
	errno = saved_errno;
	n = vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);

	if (n < 0)
		snprintf(f->text, sizeof(f->text), "failed, and the reason cannot be written (%s)", fmt);
	else if ((size_t)n >= sizeof(f->text))
		memcpy(f->text + sizeof(f->text) - sizeof(CUT_MARK), CUT_MARK, sizeof(CUT_MARK));
	errno = saved_errno;
	return err;
}

int fault_report(const struct fault *f)
{
	char shown[TEXT_ESCAPED_SIZE(sizeof(f->text))];

	if (!f || !f->text[0])
		return EXIT_FAILED;

	/* The sentence may quote names that somebody else chose: a comm, a path, bytes from a serial line. */
	text_escape_control(shown, sizeof(shown), f->text, sizeof(f->text));
	fprintf(stderr, "loopscope: %s\n", shown);
	return f->status;
}
