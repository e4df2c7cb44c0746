/* SPDX-License-Identifier: BSD-2-Clause */
/* html_spans.c - see html_spans.h. */
#include "sink/html_spans.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "sink/html_base64.h"
#include "sink/output.h"

/* All lanes' spans that are being gathered; a piece of one lane is between these. */
#define GATHERED_MAX ((size_t)1 << 21)
#define PIECE_MIN ((size_t)256)
#define PIECE_MAX ((size_t)32768)
#define HEADER 20
#define SPAN_BYTES (3 * 8 + 5) /* at most, in a piece */

struct packed {
	uint64_t pause, length, value;
	uint8_t flags;
};

struct gathered {
	struct packed *spans; /* owned */
	size_t n, cap;
	int64_t first, end; /* in units */
};

struct packer {
	struct html_page *page;
	const struct html_survey *sum;
	struct gathered *lanes;
	size_t piece;
	uint8_t *raw, *zipped; /* one piece */
	size_t zipped_size;
	z_stream z;
	struct fault *f;
};

static int no_memory(struct fault *f)
{
	return fault(f, -ENOMEM, EXIT_FAILED, "no memory for the HTML report; choose a shorter range, or free some");
}

/* --- bytes ------------------------------------------------------------------------------------------------------------- */

static uint8_t *put_bytes(uint8_t *to, uint64_t v, int n)
{
	for (int i = 0; i < n; i++)
		*to++ = (uint8_t)(v >> 8 * i);
	return to;
}

static int bytes_of(uint64_t v)
{
	int n = 0;

	for (; v; v >>= 8)
		n++;
	return n;
}

static uint64_t field(const struct packed *s, int which)
{
	return which == 0 ? s->pause : which == 1 ? s->length : s->value;
}

static uint8_t *put_planes(uint8_t *to, const struct gathered *g, int which, int width)
{
	for (int byte = 0; byte < width; byte++)
		for (size_t i = 0; i < g->n; i++)
			*to++ = (uint8_t)(field(&g->spans[i], which) >> 8 * byte);
	return to;
}

static size_t fill(uint8_t *raw, const struct gathered *g)
{
	uint64_t all[3] = { 0 };
	int width[3];
	size_t n_flags = 0;
	double first = (double)g->first;
	uint64_t bits;
	uint8_t *to = raw;

	for (size_t i = 0; i < g->n; i++) {
		for (int which = 0; which < 3; which++)
			all[which] |= field(&g->spans[i], which);
		n_flags += g->spans[i].flags != 0;
	}
	to = put_bytes(to, g->n, 4);
	for (int which = 0; which < 3; which++) {
		width[which] = bytes_of(all[which]);
		*to++ = (uint8_t)width[which];
	}
	*to++ = 0;
	memcpy(&bits, &first, sizeof(bits));
	to = put_bytes(to, bits, 8);
	to = put_bytes(to, n_flags, 4);
	for (int which = 0; which < 3; which++)
		to = put_planes(to, g, which, width[which]);
	for (size_t i = 0; i < g->n; i++)
		if (g->spans[i].flags)
			to = put_bytes(to, i, 4);
	for (size_t i = 0; i < g->n; i++)
		if (g->spans[i].flags)
			*to++ = g->spans[i].flags;
	return (size_t)(to - raw);
}

/* --- pieces ------------------------------------------------------------------------------------------------------------ */

static int zip(struct packer *k, size_t n, size_t *ret_n)
{
	k->z.next_in = k->raw;
	k->z.avail_in = (uInt)n;
	k->z.next_out = k->zipped;
	k->z.avail_out = (uInt)k->zipped_size;
	if (deflateReset(&k->z) != Z_OK || deflate(&k->z, Z_FINISH) != Z_STREAM_END)
		return fault(k->f, -EIO, EXIT_FAILED, "zlib could not compress the time line of the HTML report");
	*ret_n = k->zipped_size - k->z.avail_out;
	return 0;
}

static int piece_write(struct packer *k, size_t lane)
{
	struct gathered *g = &k->lanes[lane];
	char begin[96];
	size_t n = 0;
	int err;

	if (!g->n)
		return 0;
	snprintf(begin, sizeof(begin), "<script type=\"text/plain\" class=\"spans\" data-lane=\"%zu\">", lane);
	err = zip(k, fill(k->raw, g), &n);
	if (!err)
		err = output_write(k->page->out, begin, strlen(begin), k->f);
	if (!err)
		err = html_base64_write(k->page->out, k->zipped, n, k->f);
	if (!err)
		err = output_write(k->page->out, "</script>\n", 10, k->f);
	g->n = 0;
	return err;
}

static int room(struct packer *k, struct gathered *g)
{
	size_t cap = g->cap ? 2 * g->cap : PIECE_MIN;
	struct packed *spans;

	if (g->n < g->cap)
		return 0;
	spans = realloc(g->spans, cap * sizeof(*spans));
	if (!spans)
		return no_memory(k->f);
	g->spans = spans;
	g->cap = cap;
	return 0;
}

static int64_t in_units(int64_t ns, int64_t unit)
{
	return ns >= 0 ? ns / unit : -((unit - 1 - ns) / unit);
}

static uint64_t zigzag(int64_t v)
{
	return v < 0 ? ~((uint64_t)v << 1) : (uint64_t)v << 1;
}

static uint8_t flags_of(const struct timeline_span *s)
{
	return (uint8_t)((s->slow ? HTML_SPAN_SLOW : 0) | (s->open ? HTML_SPAN_OPEN : 0) | (s->unsure ? HTML_SPAN_UNSURE : 0) |
			 (s->kind == SPAN_READY ? HTML_SPAN_READY : 0) | (s->kind == SPAN_ALIVE ? HTML_SPAN_ALIVE : 0));
}

static int on_span(void *arg, const struct timeline_span *s)
{
	struct packer *k = arg;
	struct gathered *g = &k->lanes[s->lane];
	int64_t unit = k->sum->unit_ns, start, end;
	int err = 0;

	if (!html_is_wire(s->kind) || s->end_ns - s->start_ns < k->sum->shortest_ns)
		return 0;
	start = in_units(html_time(k->page, s->start_ns), unit);
	end = in_units(html_time(k->page, s->end_ns), unit);
	/* What overlaps can't be told by a pause: it begins a piece of its own. */
	if (g->n == k->piece || (g->n && start < g->end))
		err = piece_write(k, s->lane);
	if (!err)
		err = room(k, g);
	if (err)
		return err;
	if (!g->n)
		g->first = g->end = start;
	g->spans[g->n++] = (struct packed){
		.pause = (uint64_t)(start - g->end),
		.length = (uint64_t)(end - start),
		.value = s->kind == SPAN_MARK ? zigzag(s->value) : 0,
		.flags = flags_of(s),
	};
	g->end = end;
	return 0;
}

static size_t lanes_in_use(const struct html_survey *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_lanes; i++)
		n += s->lanes[i].spans != 0;
	return n;
}

static int packer_open(struct packer *k)
{
	size_t used = lanes_in_use(k->sum), share = GATHERED_MAX / (used ? used : 1), raw_size;

	k->piece = share > PIECE_MAX ? PIECE_MAX : share < PIECE_MIN ? PIECE_MIN : share;
	raw_size = HEADER + k->piece * SPAN_BYTES;
	k->zipped_size = compressBound(raw_size) + 64;
	k->raw = malloc(raw_size);
	k->zipped = malloc(k->zipped_size);
	k->lanes = calloc(k->sum->n_lanes + 1, sizeof(*k->lanes));
	if (!k->raw || !k->zipped || !k->lanes)
		return no_memory(k->f);
	/* Runs are all there is to find: of what these bytes are, html_spans.h says. */
	return deflateInit2(&k->z, 6, Z_DEFLATED, 15, 9, Z_DEFAULT_STRATEGY) == Z_OK ? 0 : no_memory(k->f);
}

static void packer_close(struct packer *k)
{
	for (size_t i = 0; k->lanes && i < k->sum->n_lanes; i++)
		free(k->lanes[i].spans);
	free(k->lanes);
	free(k->raw);
	free(k->zipped);
	if (k->z.state)
		deflateEnd(&k->z);
}

int html_spans(struct html_page *p, const struct html_survey *s, struct fault *f)
{
	struct packer k = { .page = p, .sum = s, .f = f };
	int err = packer_open(&k);

	if (!err)
		err = recording_spans(p->view, p->select, on_span, &k, f);
	for (size_t i = 0; !err && i < s->n_lanes; i++)
		err = piece_write(&k, i);
	packer_close(&k);
	return err;
}
