/* SPDX-License-Identifier: BSD-2-Clause */
/* serial_loopscope.c - our own frames (targets/PROTOCOL.md) as neutral events. The codec does all that is wire. */
#include <string.h>

#include "source/serial_decoder.h"
#include "targets/codec/lswire.h"

/* Bytes of a frame around its records: header, CRC, COBS code and two zeros. */
#define FRAME_REST (LSW_HEADER + LSW_CRC + 3)

struct loopscope {
	struct serial_decoder d;
	struct lsw_parser parser;
	struct lsw_link link;
	uint64_t arrival_ns; /* of the bytes being fed */
	uint64_t cursor;
	uint32_t hz;
	bool sleeps_told; /* IDLE came in this session: then SWITCH 0 is not idle */
	bool dropped_known;
	uint32_t dropped;
};

static void emit(struct loopscope *l, struct board_event *ev)
{
	ev->t = l->cursor;
	ev->arrival_ns = l->arrival_ns;
	serial_emit(&l->d, ev);
}

static void emit_gap(struct loopscope *l, int64_t count, enum board_loss what)
{
	struct board_event ev = { .kind = BOARD_GAP };

	ev.u.gap.count = count;
	ev.u.gap.what = what;
	emit(l, &ev);
}

/* The board's count of records that its ring had no room for. */
static void dropped(struct loopscope *l, uint32_t total)
{
	if (l->dropped_known && total != l->dropped)
		emit_gap(l, (uint32_t)(total - l->dropped), LOSS_EVENTS);
	l->dropped_known = true;
	l->dropped = total;
}

static void name(struct loopscope *l, const struct lsw_record *r)
{
	struct board_event ev = { .kind = BOARD_NAME, .id = r->id };
	char text[LSW_NAME_MAX + 1];

	memcpy(text, r->u.name.text, r->u.name.len);
	text[r->u.name.len] = 0;
	ev.u.name.text = text;
	ev.u.name.instance = r->u.name.inst;
	switch (r->u.name.kind) {
	case LSW_KIND_ISR:
		ev.u.name.class = BOARD_ISR;
		ev.u.name.kind = TASK_ISR;
		break;
	case LSW_KIND_MARK:
		ev.u.name.class = BOARD_MARKER;
		break;
	case LSW_KIND_AGENT:
		ev.u.name.kind = TASK_AGENT;
		break;
	case LSW_KIND_BOARD:
		ev.u.name.class = BOARD_SELF;
		break;
	default:
		break;
	}
	emit(l, &ev);
}

static void sync_record(struct loopscope *l, const struct lsw_record *r)
{
	struct board_event ev = { .kind = BOARD_SYNC };

	dropped(l, r->u.sync.dropped);
	ev.u.sync.busy = r->u.sync.busy;
	ev.u.sync.idle = r->u.sync.idle;
	ev.u.sync.isr = r->u.sync.isr;
	ev.u.sync.no_idle = r->u.sync.flags & LSW_FLAG_NO_IDLE;
	ev.u.sync.stops = r->u.sync.flags & LSW_FLAG_STOPS;
	ev.u.sync.withheld = r->u.sync.rate < LSW_RATE_RUNS || r->u.sync.flags & (LSW_FLAG_FILTER | LSW_FLAG_MIN_STEP);
	emit(l, &ev);
}

static void record(struct loopscope *l, const struct lsw_record *r)
{
	struct board_event ev = { .id = r->id };

	l->cursor += r->dt;
	switch (r->type) {
	case LSW_RUN:
		ev.kind = BOARD_RUN;
		ev.u.run.ticks = r->u.run.dur;
		break;
	case LSW_NAME:
		name(l, r);
		return;
	case LSW_SWITCH:
		ev.kind = r->id ? BOARD_SWITCH : l->sleeps_told ? BOARD_NOBODY : BOARD_IDLE;
		break;
	case LSW_ISR_IN:
		ev.kind = BOARD_ISR_IN;
		break;
	case LSW_ISR_OUT:
		ev.kind = BOARD_ISR_OUT;
		break;
	case LSW_IDLE:
		l->sleeps_told = true;
		ev.kind = BOARD_SLEPT;
		ev.u.slept.ticks = r->u.idle.slept;
		ev.u.slept.asked_ms = r->u.idle.asked_ms;
		break;
	case LSW_MARK:
		ev.kind = BOARD_MARK;
		ev.u.mark.value = r->u.mark.value;
		break;
	case LSW_OPEN:
		ev.kind = BOARD_OPEN;
		ev.u.open.ticks = r->u.open.ran;
		break;
	case LSW_END:
		ev.kind = BOARD_END;
		break;
	case LSW_TOTALS:
		ev.kind = BOARD_TOTALS;
		ev.u.totals.runs = r->u.totals.runs;
		ev.u.totals.busy = r->u.totals.busy;
		ev.u.totals.max = r->u.totals.max;
		break;
	case LSW_SYNC:
		sync_record(l, r);
		return;
	case LSW_TIME:
		ev.kind = BOARD_TIME;
		ev.u.time.nonce = r->u.time.nonce;
		ev.u.time.rx = lsw_link_time(&l->link, r->u.time.rx);
		ev.u.time.tx = lsw_link_time(&l->link, r->u.time.tx);
		ev.u.time.bytes = LSW_HEADER + FRAME_REST;
		break;
	case LSW_DROPPED:
		dropped(l, r->u.dropped.total);
		return;
	default: /* ADVANCE has moved the cursor; the others are not for us */
		return;
	}
	emit(l, &ev);
}

/* Whether the frame says that it is the board's very first. */
static bool is_first_of_boot(const struct lsw_frame *f)
{
	struct lsw_record r;
	size_t pos = f->sync_at;

	return pos != SIZE_MAX && lsw_record_next(f, &pos, &r) && r.u.sync.frames == 0;
}

static void begin_session(struct loopscope *l, const struct lsw_frame *f, const struct lsw_step *step)
{
	struct board_event ev = { .kind = BOARD_RESET };

	/* After a reset that we saw, all that the board's sums hold happened since; lost frames do not matter. */
	ev.u.reset.from_zero = step->new_session || is_first_of_boot(f);
	l->dropped_known = ev.u.reset.from_zero;
	l->dropped = 0;
	l->hz = 0;
	l->sleeps_told = false;
	emit(l, &ev);
}

static void on_frame(void *ctx, const struct lsw_frame *f)
{
	struct loopscope *l = ctx;
	struct board_event ev;
	struct lsw_step step;
	struct lsw_record r;
	size_t pos = 0;

	l->d.events++;
	lsw_link_frame(&l->link, f, l->arrival_ns, &step);
	l->cursor = step.t0;
	if (step.first)
		begin_session(l, f, &step);
	if (step.clock_known && l->link.hz != l->hz) {
		l->hz = l->link.hz;
		ev = (struct board_event){ .kind = BOARD_COUNTER };
		ev.u.counter.hz = l->link.hz;
		ev.u.counter.bits = l->link.bits;
		emit(l, &ev);
	}
	if (step.lost)
		emit_gap(l, step.lost, LOSS_FRAMES);
	while (lsw_record_next(f, &pos, &r))
		record(l, &r);
	ev = (struct board_event){ .kind = BOARD_STAMP };
	ev.u.stamp.bytes = (uint32_t)f->records_len + FRAME_REST;
	emit(l, &ev);
}

static void on_text(void *ctx, const uint8_t *p, size_t n)
{
	struct loopscope *l = ctx;

	serial_text(&l->d, p, n);
}

static void on_noise(void *ctx, const uint8_t *p, size_t n, enum lsw_error why)
{
	struct loopscope *l = ctx;

	l->d.garbage += n;
	l->d.resyncs++;
}

static struct lsw_handler handler(struct loopscope *l)
{
	return (struct lsw_handler){ .frame = on_frame, .text = on_text, .noise = on_noise, .ctx = l };
}

static void loopscope_start(struct serial_decoder *d)
{
	struct loopscope *l = (struct loopscope *)d;

	lsw_parser_init(&l->parser);
	lsw_link_init(&l->link);
}

static void loopscope_feed(struct serial_decoder *d, const uint8_t *p, size_t n, uint64_t arrival_ns)
{
	struct loopscope *l = (struct loopscope *)d;
	struct lsw_handler h = handler(l);

	l->arrival_ns = arrival_ns;
	lsw_parser_feed(&l->parser, p, n, &h);
}

static void loopscope_quiet(struct serial_decoder *d)
{
	struct loopscope *l = (struct loopscope *)d;
	struct lsw_handler h = handler(l);

	lsw_parser_flush(&l->parser, &h);
}

static void loopscope_end(struct serial_decoder *d)
{
	struct loopscope *l = (struct loopscope *)d;
	struct lsw_handler h = handler(l);

	lsw_parser_reset(&l->parser, &h);
}

/* One frame decides: magic, CRC-32 and every record in it are right. Text before it is the parser's business. */
static int loopscope_check(const uint8_t *p, size_t n, bool final, size_t *ret_start)
{
	struct lsw_handler none = { 0 };
	struct lsw_parser parser;

	lsw_parser_init(&parser);
	lsw_parser_feed(&parser, p, n, &none);
	*ret_start = 0;
	return parser.frames > 0;
}

const struct serial_decoder_ops serial_loopscope = {
	.name = "loopscope",
	.size = sizeof(struct loopscope),
	.start = loopscope_start,
	.feed = loopscope_feed,
	.quiet = loopscope_quiet,
	.end = loopscope_end,
	.check = loopscope_check,
};
