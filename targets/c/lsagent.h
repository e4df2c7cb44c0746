/* SPDX-License-Identifier: 0BSD */
/*
 * lsagent.h - the loopscope agent for C firmware: superloops, RTOS hooks, interrupts.
 *
 * It keeps exact sums (a few dozen instructions a call, 64 bits, nothing lost when the line is slow) and, as far as the
 * host asks for it, a ring of raw events, which lsa_poll turns into frames while the program has nothing better to do.
 *
 *     static struct lsa_event ring[128];
 *     static struct lsa_task tasks[8];
 *     static struct lsa scope;
 *
 *     lsa_init(&scope, &(struct lsa_config){ .clock = cycles, .hz = 25000000, .bits = 32, .write = uart_write,
 *              .ring = ring, .ring_len = 128, .tasks = tasks, .tasks_len = 8, .name = "pump", .boot = boots });
 *     blink = lsa_task(&scope, "blink");
 *     for (;;) {
 *         lsa_begin(&scope, blink);  blink_step();  lsa_end(&scope);
 *         lsa_poll(&scope, 10);
 *         lsa_idle_begin(&scope, 10);  wait_for_interrupt();  lsa_idle_end(&scope);
 *     }
 *
 * Memory: all of it the caller's; no malloc, no libc beyond memcpy. Interrupts: every function may be called from any
 * context and at any interrupt level unless its comment says otherwise. Errors: none; what does not fit is counted and
 * reported to the host. Wire format: ../PROTOCOL.md.
 */
#ifndef LSAGENT_H
#define LSAGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../codec/lswire.h"

#ifndef LSA_ISR_NEST
#define LSA_ISR_NEST 8 /* interrupts within interrupts that are told apart; deeper ones count for the innermost */
#endif

/* One raw event: 12 bytes of ring. Private. */
struct lsa_event {
	uint32_t t;
	uint32_t value; /* duration, mark, ... */
	uint16_t id;
	uint8_t type;   /* enum lsw_type */
};

/* A task, interrupt or mark. The fields are the agent's; firmware may read them, with interrupts off. */
struct lsa_task {
	const char *name; /* NULL: free */
	uint64_t busy;    /* ticks of its own, without the step in progress */
	uint32_t runs;
	uint32_t max;
	uint16_t inst;
	uint8_t kind;     /* enum lsw_kind */
	bool pass;        /* the host's filter lets it through */
};

struct lsa_config {
	/* A counter that goes up, `bits` wide (up to 32; zeros above), `hz` ticks a second. Called with interrupts off.
	 * It must not wrap more than once between two calls into the agent: a timer that calls lsa_tick sees to that.
	 * The agent makes 32 bits of it for the host. */
	uint32_t (*clock)(void);
	/* Sends n bytes (at most 256) on the line and returns when it has taken them over. Called from lsa_poll and
	 * lsa_tick only, never from both at once. Nothing else may come between the bytes of one call. */
	void (*write)(const uint8_t *bytes, size_t n);
	uint32_t hz;
	uint8_t bits;
	uint8_t rate;       /* enum lsw_rate to begin with */
	bool stopped;       /* send nothing before the host's ~+ */
	uint8_t flags;      /* LSW_FLAG_NO_IDLE, LSW_FLAG_STOPS, where they hold */
	uint16_t boot;      /* differs from the last boot's: a counter kept over reset, or a random number */
	uint16_t ring_len;  /* a power of two */
	uint16_t tasks_len; /* one is taken by the agent itself */
	uint16_t byte_us;   /* how long write blocks for each byte; 0: it does not (DMA, a queue of its own) */
	uint16_t hog_ms;    /* a step this long is reported while it runs (lsa_tick); 0: 50 */
	struct lsa_event *ring;
	struct lsa_task *tasks;
	const char *name;   /* the board's, up to LSW_NAME_MAX bytes; NULL: none */
};

/* Everything in it is private: initialise with lsa_init only. */
struct lsa {
	struct lsa_config cfg;

	/* Accounting: who has the CPU, since when. Under the lock. */
	uint32_t mask;       /* of the clock */
	uint32_t raw;        /* the clock as last read */
	uint32_t last;       /* the clock made 32 bits wide: all times below are. Up to here time is accounted for */
	uint64_t own;        /* ticks of the current step or sleep so far, without interrupts */
	uint32_t began;      /* its beginning */
	uint32_t hog_after;  /* ticks after which it is reported next */
	uint16_t current;    /* task id; 0: nobody's; LSA_IDLE */
	uint16_t asked_ms;
	uint64_t busy, idle, isr;
	struct {
		uint32_t own;
		uint16_t id;
	} nest[LSA_ISR_NEST];
	uint8_t depth;

	/* The ring. head: producers, under the lock. tail: the one that sends. */
	volatile uint16_t head, tail;
	uint16_t ring_mask;
	bool gap;            /* records were dropped and the ring does not say so yet */
	uint32_t dropped;

	/* Sending: whoever set `sending` under the lock. */
	volatile bool sending;
	bool stopped;
	uint8_t rate;
	uint8_t flags;
	volatile uint8_t requests; /* REQUEST_* of the host, under the lock */
	uint16_t agent;      /* the agent's own id */
	uint16_t n_tasks;    /* slots used so far */
	uint16_t next_name;  /* round-robin */
	uint16_t nonce;      /* of the ~t to answer */
	uint32_t nonce_rx;
	uint32_t min_step;   /* ticks */
	uint32_t hog;        /* ticks */
	uint32_t frames;     /* made so far */
	bool has_sync;       /* the frame being made: it may hold but one */
	uint32_t cursor;     /* time of the last record told */
	uint64_t frame_at;   /* when the frame was begun and when the last SYNC was made, in ticks since lsa_init */
	uint64_t sync_at;
	struct lsw_builder frame;
	struct lsw_line line;
};

#define LSA_IDLE 0xFFFFu

/* Not in an interrupt. Time is accounted from here on. */
void lsa_init(struct lsa *a, const struct lsa_config *cfg);

/* Gives a task an id. `name` must stay; a name given before makes another instance of it. 0, when the table is full:
 * what carries the id 0 is counted as busy, nobody's. Costs a search of the table. */
uint16_t lsa_task(struct lsa *a, const char *name);
/* The same for an interrupt (LSW_KIND_ISR) or a mark (LSW_KIND_MARK). */
uint16_t lsa_name(struct lsa *a, const char *name, uint8_t kind);
/* The task is gone; its id may be given to another. */
void lsa_task_gone(struct lsa *a, uint16_t id);

/* ---- a superloop's or a run-to-completion kernel's steps, one at a time ---- */
void lsa_begin(struct lsa *a, uint16_t id); /* ends a step that is still open */
void lsa_end(struct lsa *a);

/* ---- a pre-emptive kernel's switch hook, instead of begin, end and idle: 0 is its idle task ---- */
void lsa_switch(struct lsa *a, uint16_t id);

/* ---- sleep: around WFI or whatever waits. asked_ms: until when, 0xFFFF for more or for ever ---- */
void lsa_idle_begin(struct lsa *a, uint16_t asked_ms);
void lsa_idle_end(struct lsa *a);

/* ---- interrupts: first and last in the handler; they nest ---- */
void lsa_isr_enter(struct lsa *a, uint16_t id);
void lsa_isr_exit(struct lsa *a);

/* An event or value of the user's own. */
void lsa_mark(struct lsa *a, uint16_t id, int32_t value);

/* Makes frames of what the ring holds and sends them, SYNC, totals and names once a second. wait_ms is how long the
 * program has nothing to do: with byte_us set, a frame is begun only when it fits into that, or when the ring is three
 * quarters full. Call it before each sleep; from one context only. Its time is the agent's own, and reported. */
void lsa_poll(struct lsa *a, uint16_t wait_ms);

/* From a timer's interrupt, between its lsa_isr_enter and _exit, every few ms and more often than the clock wraps:
 * reports a step that has run for hog_ms and does not end, and sends that at once. */
void lsa_tick(struct lsa *a);

/* A byte received on the line. True: it is part of a command line and nobody else's. Commands are carried out by the
 * next lsa_poll. From one context only. */
bool lsa_rx(struct lsa *a, uint8_t byte);

#endif
