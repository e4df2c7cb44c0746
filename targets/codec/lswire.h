/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lswire.h - the loopscope wire: frames, records, commands and the link's bookkeeping, for host, board and fuzzer.
 *
 * The protocol itself is described in ../PROTOCOL.md; this is its one implementation in C. Freestanding C99: no
 * malloc, no libc, no clock, no I/O, no global mutable state, no recursion; memory is what the caller hands in.
 *
 *   board:  lsw_frame_begin, lsw_frame_put ..., lsw_frame_end -> bytes for the UART;  lsw_line_feed -> lsw_command
 *   host:   bytes -> lsw_parser_feed -> frames, console text, noise;  lsw_record_next over a frame's records;
 *           lsw_link_frame -> losses, resets, 64-bit time;  lsw_command_put -> bytes for the board
 *
 * Units: ticks are the board's own clock, `hz` of them a second (SYNC says), `bits` wide. All fields are little endian
 * on the wire. Everything that arrives is hostile: a frame is handed out only when its COBS, its CRC-32 and every
 * record in it are right to the last byte; nothing is ever taken from a frame in part.
 *
 * Errors: functions on bytes return a positive count or an enum lsw_error (negative); the others cannot fail.
 */
#ifndef LSWIRE_H
#define LSWIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- limits, all fixed by the protocol ---- */
#define LSW_MAGIC 0xE1u       /* 0xE0 | version */
#define LSW_VERSION 1u
#define LSW_HEADER 8u         /* magic seq:u8 t0:u32 boot:u16 */
#define LSW_CRC 4u
#define LSW_FRAME_MAX 253u    /* decoded bytes, header and CRC included: COBS then costs exactly one byte */
#define LSW_RECORDS_MAX (LSW_FRAME_MAX - LSW_HEADER - LSW_CRC)
#define LSW_SEGMENT_MAX (LSW_FRAME_MAX + 1u) /* between two zeros */
#define LSW_WIRE_MAX (LSW_SEGMENT_MAX + 2u)  /* with both zeros */
#define LSW_NAME_MAX 48u      /* bytes of UTF-8 in a NAME */
#define LSW_ID_SHORT_MAX 0xEFu /* ids up to here have the five-byte RUN */
#define LSW_LINE_MAX 80u      /* bytes of a command line, newline included */
#define LSW_WRAP_SECONDS 4u   /* a clock may not wrap more often: see SYNC */
#define LSW_COMMAND_IDS 12u   /* ids in one ~i: the longest such line has 74 bytes */

/* Reach the wire: append only. */
enum lsw_type {
	LSW_RUN = 0x01,      /* a step that ended now (wire: 01..EF short, F1 long) */
	LSW_NAME = 0xF0,     /* what an id stands for */
	LSW_RUN_LONG = 0xF1, /* wire only: decodes as LSW_RUN */
	LSW_SWITCH = 0xF2,   /* the CPU goes to task id now; 0: to nobody's task */
	LSW_ISR_IN = 0xF3,
	LSW_ISR_OUT = 0xF4,
	LSW_IDLE = 0xF5,     /* a sleep that ended now */
	LSW_MARK = 0xF6,     /* the user's own event or value */
	LSW_OPEN = 0xF7,     /* a step that is still running */
	LSW_END = 0xF8,      /* the task is gone: its id may be given to another */
	LSW_TOTALS = 0xF9,   /* a task's sums since boot */
	LSW_SYNC = 0xFA,     /* the board's clock and sums since boot */
	LSW_TIME = 0xFB,     /* answer to ~t */
	LSW_ADVANCE = 0xFC,  /* time passes: for distances that a dt:u16 cannot hold */
	LSW_DROPPED = 0xFD,  /* here records were dropped on the board; cumulative count */
	LSW_RESERVED = 0xFE, /* eight bytes, to be skipped */
	LSW_EXT = 0xFF,      /* len:u8 and as many bytes, to be skipped by who does not know them */
};

enum lsw_kind {
	LSW_KIND_TASK = 0,
	LSW_KIND_ISR = 1,
	LSW_KIND_MARK = 2,
	LSW_KIND_AGENT = 3, /* the tracer's own cost, reported as a task */
	LSW_KIND_BOARD = 4, /* id 0: the board's (loop's) own name */
};

/* What is sent: ~r0 to ~r3. */
enum lsw_rate {
	LSW_RATE_OFF = 0,    /* SYNC alone */
	LSW_RATE_TOTALS = 1, /* and NAME, TOTALS, OPEN, END, DROPPED */
	LSW_RATE_RUNS = 2,   /* and RUN, SWITCH */
	LSW_RATE_ALL = 3,    /* and IDLE, ISR, MARK */
};

/* SYNC's flags. */
#define LSW_FLAG_FILTER 0x01u   /* ~i is in force */
#define LSW_FLAG_MIN_STEP 0x02u /* ~f is in force */
#define LSW_FLAG_NO_IDLE 0x04u  /* the board cannot tell idle from busy: `idle` says nothing */
#define LSW_FLAG_STOPS 0x08u    /* the clock stops in the board's sleep: elapsed time may exceed the sums */

enum lsw_error {
	LSW_ESHORT = -1,   /* fewer bytes than the least frame or than the record needs */
	LSW_ELONG = -2,    /* more than LSW_SEGMENT_MAX */
	LSW_ECOBS = -3,    /* a COBS code points past the segment's end */
	LSW_EMAGIC = -4,   /* not ours */
	LSW_ECRC = -5,
	LSW_ERECORD = -6,  /* CRC right, but a record breaks a rule of the protocol */
	LSW_EVERSION = -7, /* CRC right, magic 0xE0 | another version */
	LSW_EROOM = -8,    /* the record does not fit into what is left */
	LSW_ECOMMAND = -9, /* not a command line */
};

/*
 * One record. `dt` moves the frame's cursor (it starts at t0) to the moment the record speaks of; records without a
 * time have dt 0. RUN and IDLE are told at their end and reach back.
 */
struct lsw_record {
	uint8_t type; /* enum lsw_type, never LSW_RUN_LONG after decoding */
	uint16_t id;  /* 1 to 0xFFFE; SWITCH and NAME also 0; 0 where the record has none */
	uint32_t dt;  /* ticks from the cursor; wire width 16 bits except RUN_LONG, IDLE, OPEN, SYNC, ADVANCE */
	union {
		struct {
			uint32_t dur; /* ticks of the task's own: interrupts and preemption taken out */
		} run;
		struct {
			uint8_t kind;   /* enum lsw_kind; others are allowed and mean "something else" */
			uint16_t inst;  /* number among those of the same name, from 0 */
			uint8_t len;    /* 1 to LSW_NAME_MAX */
			/* Valid UTF-8 without control characters; points into the frame; not terminated. */
			const uint8_t *text;
		} name;
		struct {
			uint16_t asked_ms; /* what the scheduler asked for; 0xFFFF: that or more, or for ever */
			uint32_t slept;    /* ticks, interrupts taken out */
		} idle;
		struct {
			int32_t value;
		} mark;
		struct {
			uint32_t ran; /* ticks since the step began, all that came between included */
		} open;
		struct {
			uint32_t runs; /* wraps at 2^32 */
			uint64_t busy; /* ticks of the task's own: the sum of its RUNs' dur when none is withheld */
			uint32_t max;  /* longest run since boot, saturating */
		} totals;
		struct {
			uint8_t version; /* of the agent's protocol, LSW_VERSION */
			uint8_t bits;    /* 16 to 32: the clock's width; no more than a wrap in 4 s: 2^bits >= 4 hz */
			uint8_t rate;    /* enum lsw_rate in force */
			uint8_t flags;   /* LSW_FLAG_* */
			uint32_t hz;     /* ticks a second, not 0 */
			uint32_t frames; /* number of frames made before this one; its low byte is this frame's seq */
			uint32_t dropped; /* records dropped on the board since boot */
			uint64_t busy;   /* ticks that were neither idle nor in an ISR, in tasks or not */
			uint64_t idle;
			uint64_t isr;    /* busy + idle + isr = time since tracing began, at this record's moment */
		} sync;
		struct {
			uint16_t nonce;
			uint32_t rx; /* clock when the ~t line's last byte was read */
			uint32_t tx; /* clock when the frame was given to the line */
		} time;
		struct {
			uint32_t total;
		} dropped;
		struct {
			uint8_t len;
			const uint8_t *data; /* points into the frame */
		} ext;
	} u;
};

/* An accepted frame: every record in it has been checked. Points into the caller's buffer. */
struct lsw_frame {
	uint8_t seq;
	uint16_t boot;
	uint32_t t0; /* ticks, `bits` wide: the cursor's start */
	const uint8_t *records;
	size_t records_len; /* 1 to LSW_RECORDS_MAX */
	size_t sync_at;     /* offset of the (only) SYNC in records, SIZE_MAX: none */
	uint64_t span;      /* ticks from t0 to the cursor's end: all records' dt */
};

/* ---- pieces ---- */
/* CRC-32 (IEEE 802.3, as zlib and binascii.crc32) of n bytes, going on from crc (0 to begin). */
uint32_t lsw_crc32(uint32_t crc, const uint8_t *p, size_t n);

/* COBS of n <= LSW_FRAME_MAX bytes; out holds n + 1. Returns n + 1, or LSW_ELONG. `in` may be out + 1. */
int lsw_cobs_encode(const uint8_t *in, size_t n, uint8_t *out);
/* The reverse, of a segment without its zeros; out holds n - 1 and may be `in`. Returns n - 1 or an lsw_error.
 * A zero in the segment is LSW_ECOBS. */
int lsw_cobs_decode(const uint8_t *in, size_t n, uint8_t *out);

/* ---- records ---- */
/* Writes r at p, if it fits into room: returns its bytes, LSW_EROOM, or LSW_ERECORD when a field is out of range.
 * LSW_RUN takes its short form where it can. A dt too large for its field is preceded by an ADVANCE. */
int lsw_record_put(uint8_t *p, size_t room, const struct lsw_record *r);
/* Reads the record at p: returns its bytes, LSW_ESHORT or LSW_ERECORD. *ret_r is untouched on failure.
 * LSW_RESERVED and unknown EXT are returned like any other: ignore what you do not know. */
int lsw_record_get(const uint8_t *p, size_t n, struct lsw_record *ret_r);
/* Walks a frame: *pos from 0. Returns false after the last. */
bool lsw_record_next(const struct lsw_frame *f, size_t *pos, struct lsw_record *ret_r);

/* ---- making frames ---- */
struct lsw_builder {
	uint8_t wire[LSW_WIRE_MAX]; /* the frame is built in place, one byte further on: 00 code frame... 00 */
	size_t len;                 /* decoded bytes so far */
};

void lsw_frame_begin(struct lsw_builder *b, uint8_t seq, uint32_t t0, uint16_t boot);
/* Appends: bytes taken, or LSW_EROOM (end this frame, begin the next), or LSW_ERECORD. */
int lsw_frame_put(struct lsw_builder *b, const struct lsw_record *r);
/* Bytes of records in the frame so far. */
size_t lsw_frame_used(const struct lsw_builder *b);
/* CRC, COBS and zeros: returns how many bytes of b->wire to send in one call, 0 for a frame without records. */
size_t lsw_frame_end(struct lsw_builder *b);

/* ---- taking frames ---- */
/* Checks one segment (the bytes between two zeros) and decodes it into scratch[LSW_FRAME_MAX], into which *ret_f then
 * points. Returns 0 or an lsw_error; *ret_f is untouched on failure. */
int lsw_frame_decode(const uint8_t *segment, size_t n, uint8_t *scratch, struct lsw_frame *ret_f);

/* What a parser finds. Pointers are valid during the call only; functions left NULL are not called. */
struct lsw_handler {
	void (*frame)(void *ctx, const struct lsw_frame *f);
	/* Console text: whole lines where they come whole, valid UTF-8, of control characters only \a \b \t \n \r ESC.
	 * A piece may end within a line (LSW_SEGMENT_MAX, a frame, a flush), never within a character. */
	void (*text)(void *ctx, const uint8_t *p, size_t n);
	/* A segment or line that is neither: a damaged frame, a wrong baud rate, another protocol. */
	void (*noise)(void *ctx, const uint8_t *p, size_t n, enum lsw_error why);
	void *ctx;
};

struct lsw_parser {
	/* counters since init, for the user to see; none of them wraps in practice */
	uint64_t bytes, frames, text_bytes, noise_bytes;
	/* what was refused, by reason: segments that began like a frame; bad_magic: segments and lines that did not */
	uint64_t bad_cobs, bad_crc, bad_record, bad_length, other_version, bad_magic;

	/* private */
	uint8_t segment[LSW_SEGMENT_MAX];
	uint8_t scratch[LSW_FRAME_MAX];
	size_t len;
	uint8_t state;
};

void lsw_parser_init(struct lsw_parser *p);
/* Any bytes in any pieces. Constant memory, work linear in n. A frame is delivered at its closing zero. After damage
 * the parser is in step again at the next zero. */
void lsw_parser_feed(struct lsw_parser *p, const uint8_t *bytes, size_t n, const struct lsw_handler *h);
/* The line has been quiet for a while (100 ms is good): hands out text that waits for its newline (a prompt). What may
 * be a frame's beginning stays. */
void lsw_parser_flush(struct lsw_parser *p, const struct lsw_handler *h);
/* The line was closed or reopened: what is half received is noise. Counters stay. */
void lsw_parser_reset(struct lsw_parser *p, const struct lsw_handler *h);

/* ---- the link: what was lost, when the board was reset, what time it is ---- */
struct lsw_link {
	/* since init */
	uint64_t frames;   /* accepted */
	uint64_t lost;     /* frames known to be lost on the wire */
	uint32_t sessions; /* boots seen */

	/* from the last SYNC of this session; hz 0 until there was one */
	uint32_t hz;
	uint8_t bits;
	uint8_t rate, flags;

	/* private */
	bool any;
	bool numbered;     /* `number` is the board's true count, from a SYNC */
	uint16_t boot;
	uint32_t number;   /* of the frame expected next; its low byte is its seq */
	uint64_t time;     /* the last frame's last cursor, unwrapped */
	uint64_t arrival_ns;
};

/* What one accepted frame meant for the link. */
struct lsw_step {
	bool first;       /* the first frame ever, or of a new session: nothing is known of what came before */
	bool new_session; /* the board was reset: close all open intervals, forget names and sums */
	bool clock_known; /* a SYNC of this session was seen (in this frame at the latest): hz and bits are right */
	/* Frames missing before this one. Exact once a SYNC told the board's count, else modulo 256. A SYNC may find
	 * more than its own gap: multiples of 256 which seq alone could not show. */
	uint32_t lost;
	uint64_t t0;      /* the frame's t0 in ticks that never wrap: its low `bits` bits are the frame's own */
	uint64_t silence; /* ticks from the last cursor of the frame before to t0; 0 if first */
};

void lsw_link_init(struct lsw_link *l);
/* arrival_ns: the host's monotonic clock when the frame's last byte was read. Wraps are counted as the host's clock
 * demands: the board's clock is never ahead of the host's, it can only stand still (sleep) or be late (queues). */
void lsw_link_frame(struct lsw_link *l, const struct lsw_frame *f, uint64_t arrival_ns, struct lsw_step *ret_s);
/* A clock value of this board (as in TIME) in the unwrapped time of lsw_step.t0: the one nearest to the last cursor. */
uint64_t lsw_link_time(const struct lsw_link *l, uint32_t wire);

/* ---- host to board: ASCII lines, never a byte below 0x20 but the closing newline ---- */
struct lsw_command {
	char op; /* '+' start, '-' stop, 't' time, 'n' names, 'r' rate, 'f' least step, 'i' filter */
	uint32_t value; /* t: nonce to 65535; r: 0 to 3; f: microseconds, 0: all steps */
	uint8_t n_ids;  /* i: 0 means all */
	uint16_t ids[LSW_COMMAND_IDS];
};

/* Writes "~...\n" (no terminating 0) into out[LSW_LINE_MAX]: returns its bytes, or LSW_ECOMMAND. */
int lsw_command_put(char *out, const struct lsw_command *c);
/* Reads a line without its newline: 0 or LSW_ECOMMAND. Strict: what is not wholly a command is none. */
int lsw_command_get(const char *line, size_t n, struct lsw_command *ret_c);

/* Finds command lines among other input (a REPL's): feed each byte received. */
struct lsw_line {
	char buf[LSW_LINE_MAX];
	uint8_t len;
	bool skip; /* within a line that is not ours, or too long */
};

/* True: *ret_c was filled by the line that this byte (\n or \r) closed. *ret_ours: the byte belongs to a line that
 * begins with ~ and need not reach the REPL. */
bool lsw_line_feed(struct lsw_line *l, uint8_t byte, struct lsw_command *ret_c, bool *ret_ours);

#endif
