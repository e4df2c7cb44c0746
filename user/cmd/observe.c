/* SPDX-License-Identifier: BSD-2-Clause */
/* observe.c - see observe.h. Opens it, reads it, reports it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/observe_probes.h"
#include "cmd/observe_state.h"
#include "lib/now.h"
#include "registry/proc.h"
#include "registry/registry.h"

const char *const observe_formats[] = { "table", "json", NULL };
const char *const observe_tick_formats[] = { "table", "json", "folded", NULL };

/* Who a loop is, for records of single ticks: as the last interval had it. One that was in none is asked itself; so is one that was
 * not recognised: it may have been seen for the first time inside a callback, in a call that its runtime does not wait in. */
static void who(void *arg, const struct loop_id *id, const char *wait_syscall, const char *thread, char comm[LOOP_COMM_LEN],
		const char **runtime)
{
	struct observation *ob = arg;
	const struct loop_facts *known = tracker_facts(ob->tracker, id);
	struct proc_info info;

	if (known)
		memcpy(comm, known->comm, LOOP_COMM_LEN);
	else if (!proc_info_read((pid_t)id->pid, &info))
		memcpy(comm, info.comm, LOOP_COMM_LEN);
	if (known && known->runtime_known)
		*runtime = known->runtime;
	else
		*runtime = registry_recognise(ob->facts.registry, (pid_t)id->pid, wait_syscall, thread)->name;
}

static int on_slow(void *arg, const struct tick_report *r)
{
	struct observation *ob = arg;

	return observe_ticks_slow(ob->ticks, r, ob->f);
}

static int on_turn(void *arg, const struct loop_turn *t)
{
	struct observation *ob = arg;

	return sink_takes_turns(ob->sink) ? sink_turn(ob->sink, t, ob->f) : observe_events_turn(ob->events, t, ob->f);
}

static int find_phases(void *arg, pid_t pid, const char *const **ret_names, kernel_place_fn place, void *place_arg)
{
	struct observation *ob = arg;

	return observe_find_phases(ob->facts.registry, pid, !ob->phases_told, ret_names, place, place_arg);
}

static int open_source(struct observation *ob, const struct observe_options *o, struct fault *f)
{
	struct kernel_source_options so = o->source;
	int err = observe_ticks_new(ob->sink, who, ob, &ob->ticks);

	if (!err)
		err = observe_events_new(ob->sink, who, ob, &ob->events);
	if (err)
		return err;
	so.slow = on_slow;
	so.turn = on_turn;
	so.find = observe_find_waits;
	so.find_phases = find_phases;
	so.arg = ob;
	return kernel_source_open(&so, &ob->source, f);
}

static int open_sink(struct observation *ob, struct fault *f)
{
	struct table_options t = { .out = ob->o.out, .layout = ob->o.layout, .columns = ob->o.columns,
				   .interval_ns = ob->o.interval_ns };

	int err;

	ob->sink = ob->o.sink;
	if (ob->sink)
		return 0;
	if (ob->o.format == OBSERVE_FOLDED)
		err = sink_folded_new(ob->o.out, &ob->own_sink, f);
	else if (ob->o.format == OBSERVE_JSON)
		err = sink_json_new(ob->o.out, &ob->own_sink, f);
	else
		err = sink_table_new(&t, &ob->own_sink, f);
	ob->sink = ob->own_sink;
	return err;
}

static int take(void *arg, const struct loop_sample *s)
{
	return tracker_sample(arg, s);
}

int observe_round(struct observation *ob, struct interval *ret, struct fault *f)
{
	struct kernel_losses lost;
	int err;

	tracker_begin(ob->tracker, (double)clock_ns(CLOCK_REALTIME) / 1e9, now_ns());
	observe_facts_round_begin(&ob->facts);
	err = kernel_source_snapshot(ob->source, take, ob->tracker, f);
	observe_facts_round_end(&ob->facts);
	if (!err) {
		enum cost_kind kind;
		double ns = kernel_source_event_cost(ob->source, &kind);

		tracker_set_event_cost(ob->tracker, ns, kind);
		tracker_set_wait_cost(ob->tracker, kernel_source_wait_cost(ob->source));
		tracker_set_entry_cost(ob->tracker, kernel_source_entry_cost(ob->source));
		err = tracker_end(ob->tracker, ret);
	}
	if (err)
		return fault(f, err, EXIT_FAILED, "the report can't be made: %s", strerror(-err));
	ret->steal = steal_meter_step(&ob->steal);
	if (!kernel_source_losses(ob->source, &lost))
		ret->lost = (int64_t)(lost.ended_lost + lost.not_tracked + lost.torn + lost.missed + lost.slow_ticks);
	return 0;
}

int observation_open(const struct observe_options *o, struct observation **ret, struct fault *f)
{
	struct observation *ob = calloc(1, sizeof(*ob));
	struct tracker_options to = { .facts = observe_facts_read, .arg = &ob->facts, .show_asleep = o->show_asleep, .show_all = o->show_all };
	struct interval first;
	int err;

	if (!ob)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	ob->o = *o;
	ob->order = (struct observe_order){ .filter = o->filter, .by = o->sort };
	ob->f = f;
	ob->asked_ns = now_ns();
	err = open_sink(ob, f);
	if (!err)
		err = tracker_new(&to, &ob->tracker);
	/* Before the probe files: without privileges, that is the cause to tell, even where those can't be read either. */
	if (!err)
		err = open_source(ob, o, f);
	if (!err)
		err = registry_load(NULL, &ob->facts.registry, f);
	if (!err)
		err = observe_round(ob, &first, f);
	if (err) {
		observation_close(ob);
		return fault(f, err, EXIT_FAILED, "out of memory");
	}
	*ret = ob;
	return 0;
}

void observation_close(struct observation *ob)
{
	if (!ob)
		return;
	observe_leave_loop(ob);
	kernel_source_close(ob->source);
	observe_ticks_free(ob->ticks);
	observe_events_free(ob->events);
	tracker_free(ob->tracker);
	registry_free(ob->facts.registry);
	sink_free(ob->own_sink);
	free(ob->order.sorted);
	free(ob);
}

struct kernel_source *observation_source(struct observation *ob)
{
	return ob->source;
}

void observation_set_filter(struct observation *ob, const struct loop_filter *filter)
{
	ob->order.filter = filter;
}

int observe_tell(struct observation *ob, struct interval *iv, struct fault *f)
{
	int err = observe_choose(&ob->order, iv, f);

	return err ? err : sink_interval(ob->sink, iv, f);
}

int observation_report(struct observation *ob, bool last, struct fault *f)
{
	struct interval iv = {};
	int err = observe_round(ob, &iv, f);

	if (err)
		return err;
	iv.last = last;
	ob->reports++;
	err = observe_tell(ob, &iv, f);
	return err ? err : observe_continue_calibration(ob, f);
}

bool observe_columns_help(const char *columns)
{
	if (!columns || strcmp(columns, "help"))
		return false;
	sink_table_columns_help(stdout);
	return true;
}

int observe_exit(int err, const struct fault *f)
{
	if (!err || err == -EPIPE)
		return EXIT_DONE;
	return fault_report(f);
}
