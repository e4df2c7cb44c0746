/* SPDX-License-Identifier: BSD-2-Clause */
/* inifile.c - see inifile.h. The reader also counts the lines, which inih as packaged does not hand on. */
#include "lib/inifile.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/cleanup.h"

#define SECTION_SIZE 50 /* inih's own */

int inifile_refuse(struct inifile *in, const char *fmt, ...)
{
	char what[384];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (!in->err)
		in->err = -EINVAL;
	return fault(in->f, -EINVAL, in->status, "%s:%u: %s", in->source, in->line, what);
}

static int no_memory(struct inifile *in)
{
	return in->err = fault(in->f, -ENOMEM, EXIT_FAILED, "out of memory while reading %s", in->source);
}

static int note(struct inifile *in, int err)
{
	if (err < 0 && !in->err)
		in->err = err;
	return err;
}

/* The part of a line between [ and ]. */
static int on_section_line(struct inifile *in, const char *line)
{
	char name[SECTION_SIZE] = "";
	const char *end = strchr(line, ']'), *after;

	if (!end)
		return inifile_refuse(in, "the section's ] is missing");
	if ((size_t)(end - line - 1) >= sizeof(name))
		return inifile_refuse(in, "the section's name is too long: at most %zu characters are allowed",
				      sizeof(name) - 1);
	after = end + 1 + strspn(end + 1, " \t\r\n");
	if (*after && !strchr(";#", *after))
		return inifile_refuse(in, "there is text after the section's ]: put it on its own line");
	memcpy(name, line + 1, (size_t)(end - line - 1));
	return note(in, in->section(in->arg, name));
}

/* What stands for a line that inih has no room for: nothing for a comment, else its key, and a value that on_key() puts right. */
static char *shortened(struct inifile *in, char *buf, int size, size_t len)
{
	const char *line = in->next, *after = line;

	if (len - 1 > in->longest)
		return NULL;
	if (strchr(";#", *line))
		return strcpy(buf, "\n");
	while (after < line + len && !strchr("=:", *after))
		after++;
	if (after == line + len || after - line + 3 >= size)
		return NULL;
	in->long_value = after + 1;
	memcpy(buf, line, (size_t)(after + 1 - line));
	strcpy(buf + (after + 1 - line), "x\n");
	return buf;
}

/* The value as inih would have handed it out: without a comment, and without space around it. */
static char *long_value(const struct inifile *in)
{
	const char *begin = in->long_value, *end = begin;

	while (end < in->next && !(*end == ';' && end > begin && isspace((unsigned char)end[-1])))
		end++;
	while (begin < end && isspace((unsigned char)*begin))
		begin++;
	while (end > begin && isspace((unsigned char)end[-1]))
		end--;
	return strndup(begin, (size_t)(end - begin));
}

/* An fgets() over the text. */
static char *next_line(char *buf, int size, void *user)
{
	struct inifile *in = user;
	const char *newline;
	size_t len;

	if (in->err || in->next == in->end)
		return NULL;
	in->line++;
	newline = memchr(in->next, '\n', (size_t)(in->end - in->next));
	len = newline ? (size_t)(newline + 1 - in->next) : (size_t)(in->end - in->next);
	if (memchr(in->next, '\0', len))
		return inifile_refuse(in, "a NUL byte: %s is plain text", in->what), NULL;
	in->long_value = NULL;
	if (len < (size_t)size) {
		memcpy(buf, in->next, len);
		buf[len] = '\0';
	} else if (!shortened(in, buf, size, len)) {
		return inifile_refuse(in, "the line is too long: at most %zu characters are allowed",
				      in->longest > (size_t)size - 2 ? in->longest : (size_t)size - 2),
		       NULL;
	}
	in->next += len;

	if (isblank((unsigned char)*buf) && buf[strspn(buf, " \t\r\n")])
		return inifile_refuse(in, "the line is indented: begin every line at its left edge"), NULL;
	if (*buf == '[' && on_section_line(in, buf) < 0)
		return NULL;
	return buf;
}

static int on_key(void *user, const char *section, const char *name, const char *value)
{
	struct inifile *in = user;
	_cleanup_free_ char *whole = NULL;

	if (in->err)
		return 0;
	if (in->long_value) {
		whole = long_value(in);
		if (!whole)
			return !no_memory(in);
		value = whole;
	}
	return !note(in, in->key(in->arg, section, name, value));
}

int inifile_parse(struct inifile *in, const char *text, size_t len)
{
	int bad_line;

	in->line = 0;
	in->err = 0;
	in->next = text;
	in->end = text + len;
	bad_line = ini_parse_stream(next_line, in, on_key, in);
	if (!in->err && bad_line < 0)
		return no_memory(in);
	/* inih reports the first bad line: one of its own may precede ours, but then ours is no less true. */
	if (!in->err && bad_line > 0) {
		in->line = (unsigned)bad_line;
		return inifile_refuse(in, "neither [section] nor key = value nor a comment (; or #)");
	}
	return in->err;
}

int inifile_load(const char *path, const char *what, size_t max, char **ret_text, size_t *ret_len, struct fault *f)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	_cleanup_free_ char *text = NULL;
	struct stat st;
	size_t len = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fault(f, -errno, EXIT_FAILED, "%s: %m: make it readable, or name another", path);
	if (!S_ISREG(st.st_mode))
		return fault(f, -EINVAL, EXIT_FAILED, "%s: not a regular file: %s is a text file", path, what);

	text = malloc(max + 1);
	if (!text)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory while reading %s", path);
	/* One byte more than allowed, to tell a file that is too long; the size that fstat gave may have changed. */
	while (len <= max) {
		ssize_t n = read(fd, text + len, max + 1 - len);

		if (n < 0)
			return fault(f, -errno, EXIT_FAILED, "%s: %m: make it readable", path);
		if (n == 0) {
			*ret_text = TAKE_PTR(text);
			*ret_len = len;
			return 0;
		}
		len += (size_t)n;
	}
	return fault(f, -EFBIG, EXIT_FAILED, "%s: too long for %s: at most %zu KiB are allowed", path, what,
		     max / 1024);
}
