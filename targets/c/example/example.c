/* SPDX-License-Identifier: 0BSD */
/*
 * example.c - a superloop traced by loopscope, on an emulated or real Cortex-M3 (MPS2 AN385).
 *
 * Tasks: `blink` twice (every 20 and 30 ms), `sensor` every 10 ms, `report` (prints the truth each second), `crunch` (a
 * hog: 80 ms every 2 s). Interrupts: the 1 kHz timer, which itself takes about 100 us. In between the CPU sleeps.
 *
 * The firmware counts for itself, apart from the agent, what each step and the timer's interrupt took and how long it
 * slept, and says so on the console, a line each, beginning with "truth". So the agent can be checked against it:
 *
 *     truth clock=<ticks> idle=<ticks> isr=<ticks>              (each second)
 *     truth task=<name> inst=<n> runs=<n> busy=<ticks>          (on q, when no task runs any more)
 *
 * Console input: h a step of the task `hold` that lasts until x; q no more steps, then the tasks' truth; r reset; c the
 * cost of the agent's calls.
 * The trace goes out on UART TRACE_UART: 1 alone, 0 shared with the console.
 */
#include <stdbool.h>

#include "../lsagent.h"
#include "board.h"
#include "console.h"

#ifndef TRACE_UART
#define TRACE_UART 1
#endif

#define TIMER_HZ 1000u
#define RING 1024 /* two events a millisecond, and an emulator's line that may stall for a while */
#define TASKS 12 /* and the agent's own, interrupts, marks */

static struct lsa scope;
static struct lsa_event ring[RING];
static struct lsa_task tasks[TASKS];

static uint16_t isr_timer, isr_uart, mark_temperature;
static volatile uint32_t ms; /* since boot */
static volatile char key;    /* last console input, 0: none */

/* ---- the firmware's own counts: independent of the agent ---- */
static volatile uint32_t isr_ticks; /* in interrupts, from first to last instruction of ours */
static uint64_t isr_total, idle_total;
static uint32_t isr_seen;

/* Folds the 32-bit count that interrupts keep into a wide one. */
static uint64_t isr_sum(void)
{
	uint32_t now = isr_ticks;

	isr_total += now - isr_seen;
	isr_seen = now;
	return isr_total;
}

/* ---- work ---- */
/* Takes about that many microseconds of CPU time, interrupts not counted. */
static void spin(uint32_t us)
{
	uint32_t isr = isr_ticks, start = board_clock();

	while (board_clock() - start - (isr_ticks - isr) < us * (BOARD_HZ / 1000000))
		;
}

static void blink(void)
{
	spin(200);
}

static void sensor(void)
{
	spin(300 + (ms & 127));
	lsa_mark(&scope, mark_temperature, (int32_t)(2000 + (ms & 255)));
}

static void crunch(void)
{
	spin(80000);
}

/* Does not end by itself: is it seen all the same? */
static void hold(void)
{
	while (key != 'x')
		;
	key = 0;
}

static void report(void)
{
	console_text("truth clock=");
	console_number(board_clock());
	console_text(" idle=");
	console_number(idle_total);
	console_text(" isr=");
	console_number(isr_sum());
	console_text("\n");
}

/* ---- the loop ---- */
struct job {
	const char *name;
	void (*step)(void);
	uint32_t every_ms;
	uint32_t due;
	uint16_t id;
	/* truth */
	uint32_t runs;
	uint64_t busy;
};

static struct job jobs[] = {
	{ .name = "blink", .step = blink, .every_ms = 20 },  { .name = "blink", .step = blink, .every_ms = 30 },
	{ .name = "sensor", .step = sensor, .every_ms = 10 }, { .name = "report", .step = report, .every_ms = 1000 },
	{ .name = "crunch", .step = crunch, .every_ms = 2000 },
};

#define JOBS (sizeof(jobs) / sizeof(jobs[0]))

static struct job on_demand = { .name = "hold", .step = hold };

static void run(struct job *j)
{
	uint32_t isr, start;

	lsa_begin(&scope, j->id);
	isr = isr_ticks;
	start = board_clock();
	j->step();
	j->busy += board_clock() - start - (isr_ticks - isr);
	j->runs++;
	lsa_end(&scope);
}

/* Milliseconds until the next job is due, at most 1000. */
static uint32_t wait_ms(void)
{
	uint32_t least = 1000, now = ms;

	for (struct job *j = jobs; j < jobs + JOBS; j++) {
		uint32_t left = (int32_t)(j->due - now) > 0 ? j->due - now : 0;

		if (left < least)
			least = left;
	}
	return least;
}

static void sleep_until_due(uint32_t wait)
{
	uint32_t isr, start;

	lsa_idle_begin(&scope, (uint16_t)wait);
	isr = isr_ticks;
	start = board_clock();
	board_sleep();
	idle_total += board_clock() - start - (isr_ticks - isr);
	lsa_idle_end(&scope);
}

static void tell_tasks(void)
{
	for (struct job *j = jobs; j < jobs + JOBS; j++) {
		console_text("truth task=");
		console_text(j->name);
		console_text(" inst=");
		console_number(j == &jobs[1]);
		console_text(" runs=");
		console_number(j->runs);
		console_text(" busy=");
		console_number(j->busy);
		console_text("\n");
	}
	console_text("truth end\n");
}

/* What a call of the agent costs: the ticks of 1000 of them, less those of an empty loop. Under qemu -icount shift=0 an
 * instruction is a nanosecond, a tick 40. The interrupts' time is taken out; what the calls record is thrown away. */
#define COST_CALLS 1000
#define COST_OF(text, call) \
	do { \
		uint32_t isr, start, took; \
		lsa_poll(&scope, 1000); \
		isr = isr_ticks; \
		start = board_clock(); \
		for (volatile int i = 0; i < COST_CALLS; i++) { \
			scope.tail = scope.head; \
			call; \
		} \
		took = board_clock() - start - (isr_ticks - isr); \
		console_text("cost " text "="); \
		console_number(took); \
		console_text("\n"); \
	} while (0)

static void tell_costs(void)
{
	COST_OF("empty", (void)0);
	COST_OF("clock", board_clock());
	COST_OF("begin_end", (lsa_begin(&scope, jobs[0].id), lsa_end(&scope)));
	COST_OF("idle_begin_end", (lsa_idle_begin(&scope, 5), lsa_idle_end(&scope)));
	COST_OF("isr_enter_exit", (lsa_isr_enter(&scope, isr_timer), lsa_isr_exit(&scope)));
	COST_OF("switch", lsa_switch(&scope, jobs[0].id));
	COST_OF("mark", lsa_mark(&scope, mark_temperature, 1));
	COST_OF("tick", lsa_tick(&scope));
	lsa_end(&scope);
	console_text("cost end\n");
}

/* True while jobs run. */
static bool obey(bool running)
{
	char k = key;

	key = 0;
	if (k == 'q') {
		tell_tasks();
		return false;
	}
	if (k == 'h')
		run(&on_demand);
	if (k == 'r')
		board_reset();
	if (k == 'c')
		tell_costs();
	return running;
}

/* ---- interrupts ---- */
void on_timer(void)
{
	uint32_t start = board_clock();

	lsa_isr_enter(&scope, isr_timer);
	ms++;
	while (board_clock() - start < 100 * (BOARD_HZ / 1000000))
		;
	lsa_tick(&scope);
	lsa_isr_exit(&scope);
	isr_ticks += board_clock() - start;
}

void on_uart(unsigned uart)
{
	uint32_t start = board_clock();
	int byte;

	lsa_isr_enter(&scope, isr_uart);
	while ((byte = board_read(uart)) >= 0) {
		bool ours = uart == TRACE_UART && lsa_rx(&scope, (uint8_t)byte);

		if (!ours && uart == CONSOLE_UART && byte > ' ')
			key = (char)byte;
	}
	lsa_isr_exit(&scope);
	isr_ticks += board_clock() - start;
}

static void trace_write(const uint8_t *bytes, size_t n)
{
	board_write(TRACE_UART, bytes, n);
}

int main(void)
{
	static const struct lsa_config config = {
		.clock = board_clock, .write = trace_write, .hz = BOARD_HZ, .bits = 32, .rate = LSW_RATE_ALL,
		.ring = ring, .ring_len = RING, .tasks = tasks, .tasks_len = TASKS, .name = "mps2-an385",
	};
	struct lsa_config c = config;
	bool running = true;

	board_init(TIMER_HZ);
	c.boot = board_boots();
	lsa_init(&scope, &c);
	isr_timer = lsa_name(&scope, "timer", LSW_KIND_ISR);
	isr_uart = lsa_name(&scope, "uart", LSW_KIND_ISR);
	mark_temperature = lsa_name(&scope, "temperature", LSW_KIND_MARK);
	for (struct job *j = jobs; j < jobs + JOBS; j++)
		j->id = lsa_task(&scope, j->name);
	on_demand.id = lsa_task(&scope, on_demand.name);
	console_text("loopscope example, boot ");
	console_number(c.boot);
	console_text("\n");
	__asm__ volatile("cpsie i");

	for (;;) {
		for (struct job *j = jobs; running && j < jobs + JOBS; j++) {
			if ((int32_t)(ms - j->due) < 0)
				continue;
			run(j);
			j->due += j->every_ms;
		}
		if (!running && (int32_t)(ms - jobs[3].due) >= 0) {
			report();
			jobs[3].due += jobs[3].every_ms;
		}
		running = obey(running);
		lsa_poll(&scope, (uint16_t)wait_ms());
		if (!running || wait_ms())
			sleep_until_due(wait_ms());
	}
}
