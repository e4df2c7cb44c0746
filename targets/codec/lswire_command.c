/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lswire_command.c - the host's lines to the board. Printable ASCII and a newline only: a byte 03 would stop a REPL's
 * program.
 */
#include "lswire.h"

#define DIGITS_MAX 10

/* Decimal, returns the characters written. */
static int put_number(char *out, uint32_t v)
{
	char digits[DIGITS_MAX];
	int n = 0;

	do {
		digits[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	for (int i = 0; i < n; i++)
		out[i] = digits[n - 1 - i];
	return n;
}

/* The digits at line[*pos], at least one, no value above max. */
static bool get_number(const char *line, size_t n, size_t *pos, uint32_t max, uint32_t *ret_v)
{
	uint32_t v = 0;
	size_t i = *pos;

	for (; i < n && line[i] >= '0' && line[i] <= '9'; i++) {
		uint32_t digit = (uint32_t)(line[i] - '0');

		if (digit > max || v > (max - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	if (i == *pos)
		return false;
	*pos = i;
	*ret_v = v;
	return true;
}

/* The largest value that an op takes; false: it takes none. */
static bool value_max(char op, uint32_t *ret_max)
{
	switch (op) {
	case 't':
		*ret_max = 0xFFFF;
		return true;
	case 'r':
		*ret_max = LSW_RATE_ALL;
		return true;
	case 'f':
		*ret_max = UINT32_MAX;
		return true;
	default:
		return false;
	}
}

int lsw_command_put(char *out, const struct lsw_command *c)
{
	uint32_t max;
	int n = 0;

	out[n++] = '~';
	out[n++] = c->op;
	if (value_max(c->op, &max)) {
		if (c->value > max)
			return LSW_ECOMMAND;
		n += put_number(out + n, c->value);
	} else if (c->op == 'i') {
		if (c->n_ids > LSW_COMMAND_IDS)
			return LSW_ECOMMAND;
		for (uint8_t i = 0; i < c->n_ids; i++) {
			if (!c->ids[i] || c->ids[i] == 0xFFFF)
				return LSW_ECOMMAND;
			if (i)
				out[n++] = ',';
			n += put_number(out + n, c->ids[i]);
		}
	} else if (c->op != '+' && c->op != '-' && c->op != 'n') {
		return LSW_ECOMMAND;
	}
	out[n++] = '\n';
	return n;
}

int lsw_command_get(const char *line, size_t n, struct lsw_command *ret_c)
{
	struct lsw_command c = { 0 };
	size_t pos = 2;
	uint32_t max, id;

	if (n < 2 || line[0] != '~')
		return LSW_ECOMMAND;
	c.op = line[1];
	if (value_max(c.op, &max)) {
		if (!get_number(line, n, &pos, max, &c.value))
			return LSW_ECOMMAND;
	} else if (c.op == 'i') {
		while (pos < n) {
			if (c.n_ids && line[pos++] != ',')
				return LSW_ECOMMAND;
			if (c.n_ids == LSW_COMMAND_IDS || !get_number(line, n, &pos, 0xFFFE, &id) || !id)
				return LSW_ECOMMAND;
			c.ids[c.n_ids++] = (uint16_t)id;
		}
	} else if (c.op != '+' && c.op != '-' && c.op != 'n') {
		return LSW_ECOMMAND;
	}
	if (pos != n)
		return LSW_ECOMMAND;
	*ret_c = c;
	return 0;
}

bool lsw_line_feed(struct lsw_line *l, uint8_t byte, struct lsw_command *ret_c, bool *ret_ours)
{
	bool found = false;

	*ret_ours = !l->skip && (l->len ? true : byte == '~');
	if (byte == '\n' || byte == '\r') {
		found = !l->skip && l->len && !lsw_command_get(l->buf, l->len, ret_c);
		l->len = 0;
		l->skip = false;
	} else if (l->skip) {
		/* until the line ends */
	} else if (l->len < LSW_LINE_MAX && (l->len || byte == '~')) {
		l->buf[l->len++] = (char)byte;
	} else {
		l->len = 0;
		l->skip = true;
	}
	return found;
}
