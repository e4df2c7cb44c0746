/* SPDX-License-Identifier: BSD-2-Clause */
/* when.c - see when.h. */
#include "lib/when.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/parse.h"

#define SECOND 1000000000ll
#define SECONDS_MAX 9000000000ll /* the year 2255: nanoseconds of it fit */

/* Two digits, at most max. */
static bool two_digits(const char **p, int max, int *ret)
{
	const char *s = *p;

	if (!isdigit((unsigned char)s[0]) || !isdigit((unsigned char)s[1]))
		return false;
	*ret = (s[0] - '0') * 10 + s[1] - '0';
	*p += 2;
	return *ret <= max;
}

/* ".25" and nothing else, or nothing. */
static bool fraction(const char *p, int64_t *ret_ns)
{
	int64_t scale = SECOND / 10;

	*ret_ns = 0;
	if (!*p)
		return true;
	if (*p++ != '.' || !*p)
		return false;
	for (; *p; p++, scale /= 10) {
		if (!isdigit((unsigned char)*p))
			return false;
		*ret_ns += (*p - '0') * scale;
	}
	return true;
}

/* "14:05", "14:05:30", "14:05:30.25" to the end of the text. */
static bool time_of_day(const char *p, struct tm *tm, int64_t *ret_ns)
{
	*ret_ns = 0;
	tm->tm_sec = 0;
	if (!two_digits(&p, 23, &tm->tm_hour) || *p++ != ':' || !two_digits(&p, 59, &tm->tm_min))
		return false;
	if (!*p)
		return true;
	return *p++ == ':' && two_digits(&p, 60, &tm->tm_sec) && fraction(p, ret_ns);
}

static bool date(const char **p, struct tm *tm)
{
	int century, year;

	if (!two_digits(p, 99, &century) || !two_digits(p, 99, &year) || *(*p)++ != '-')
		return false;
	if (!two_digits(p, 12, &tm->tm_mon) || *(*p)++ != '-' || !two_digits(p, 31, &tm->tm_mday) || !tm->tm_mon || !tm->tm_mday)
		return false;
	tm->tm_mon--;
	tm->tm_year = century * 100 + year - 1900;
	return true;
}

static int local(struct tm *tm, int64_t ns, int64_t *ret)
{
	time_t t;

	tm->tm_isdst = -1;
	t = mktime(tm);
	if (t < -SECONDS_MAX || t > SECONDS_MAX)
		return -ERANGE;
	*ret = (int64_t)t * SECOND + ns;
	return 0;
}

static int on_a_date(const char *text, int64_t *ret)
{
	struct tm tm = { 0 };
	int64_t ns;

	if (!date(&text, &tm))
		return -EINVAL;
	if (!*text)
		return local(&tm, 0, ret);
	if ((*text != ' ' && *text != 'T') || !time_of_day(text + 1, &tm, &ns))
		return -EINVAL;
	return local(&tm, ns, ret);
}

static int of_the_day(const char *text, int64_t start_ns, int64_t *ret)
{
	time_t start = (time_t)(start_ns / SECOND);
	struct tm tm;
	int64_t ns, at;
	int err;

	if (!localtime_r(&start, &tm) || !time_of_day(text, &tm, &ns))
		return -EINVAL;
	err = local(&tm, ns, &at);
	/* Typed to the second: a start within it is not after it. */
	if (!err && at + SECOND <= start_ns) {
		tm.tm_mday++;
		err = local(&tm, ns, &at);
	}
	if (!err)
		*ret = at;
	return err;
}

static int since_the_epoch(const char *text, int64_t *ret)
{
	uint64_t seconds = 0;
	int64_t ns;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	for (; isdigit((unsigned char)*text); text++) {
		seconds = seconds * 10 + (uint64_t)(*text - '0');
		if (seconds > SECONDS_MAX)
			return -ERANGE;
	}
	if (!fraction(text, &ns))
		return -EINVAL;
	*ret = (int64_t)seconds * SECOND + ns;
	return 0;
}

int when_parse(const char *text, int64_t start_ns, int64_t end_ns, int64_t *ret)
{
	const char *unsigned_part = text + (*text == '-');
	uint64_t ns;
	int err;

	if (*text == '@')
		return since_the_epoch(text + 1, ret);
	if (strchr(text, ':') && !strchr(text, '-'))
		return of_the_day(text, start_ns, ret);
	if (strchr(unsigned_part, '-'))
		return on_a_date(text, ret);
	err = parse_duration(unsigned_part, &ns);
	if (err)
		return err;
	if (ns > (uint64_t)SECONDS_MAX * SECOND / 2)
		return -ERANGE;
	*ret = *text == '-' ? end_ns - (int64_t)ns : start_ns + (int64_t)ns;
	return 0;
}
