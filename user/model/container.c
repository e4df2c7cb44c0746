/* SPDX-License-Identifier: BSD-2-Clause */
/* container.c - see container.h. */
#include "model/container.h"

#include <stddef.h>
#include <string.h>

/* Runtimes write lower case. */
static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static size_t hex_run(const char *s)
{
	size_t n = 0;

	while (is_hex(s[n]))
		n++;
	return n;
}

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool container_id(const char *cgroup, char ret[CONTAINER_ID_LEN + 1])
{
	bool found = false;

	ret[0] = '\0';
	for (const char *p = cgroup; *p;) {
		size_t n = hex_run(p);

		if (n == CONTAINER_ID_LEN && (p == cgroup || !is_word(p[-1])) && !is_word(p[n])) {
			memcpy(ret, p, n);
			ret[n] = '\0';
			found = true;
		}
		p += n ? n : 1;
	}
	return found;
}

/* 8-4-4-4-12 digits with either separator, or 32 without: how many characters, 0 for neither. */
static size_t uid_length(const char *s)
{
	static const size_t groups[] = { 8, 4, 4, 4, 12 };
	size_t at = 0;

	if (hex_run(s) == 32)
		return 32;
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		if (i && s[at] != '-' && s[at] != '_')
			return 0;
		at += i > 0;
		if (hex_run(s + at) != groups[i])
			return 0;
		at += groups[i];
	}
	return at;
}

bool container_pod_uid(const char *cgroup, char ret[POD_UID_LEN + 1])
{
	bool found = false;

	ret[0] = '\0';
	for (const char *p = strstr(cgroup, "pod"); p; p = strstr(p + 1, "pod")) {
		size_t n = uid_length(p + 3);

		if (!n || is_word(p[3 + n]))
			continue;
		for (size_t i = 0; i < n; i++)
			ret[i] = p[3 + i] == '_' ? '-' : p[3 + i];
		ret[n] = '\0';
		found = true;
	}
	return found;
}
