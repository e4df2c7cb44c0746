/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor.c - `loopscope doctor`: line by line, what this kernel, these privileges and this build can do. */
#include <errno.h>
#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

#include "cmd/command.h"
#include "cmd/loop_options.h"
#include "cmd/observe.h"
#include "lib/cleanup.h"
#include "lib/options.h"
#include "registry/registry.h"
#include "source/kernel_check.h"

struct doctor_config {
	int format;
};

static const struct opt_spec specs[] = {
	OPTION_OUTPUT(offsetof(struct doctor_config, format)),
	{ 0 },
};

static const struct opt_usage usage = {
	.command = "doctor",
	.synopsis = "[options]",
	.about = "Tells, line by line, what this kernel, these privileges and this build can do, and how to mend what they can't. "
		 "Exit status: 0 if everything needed is there, 3 if not.",
	.examples = "  sudo loopscope doctor\n",
};

static const char *const result_names[] = { [CHECK_OK] = "ok", [CHECK_LIMITED] = "limited", [CHECK_NO] = "NO" };

static int print_text(const struct check_line *l)
{
	printf("%-8s %-19s %s\n", result_names[l->result], l->what, l->found);
	if (l->remedy[0])
		printf("%-8s %-19s -> %s\n", "", "", l->remedy);
	return 0;
}

static int print_json(const struct check_line *l)
{
	json_t *o = json_pack("{s:i, s:s, s:s, s:s, s:s, s:s?}", "v", 1, "type", "check", "what", l->what, "result",
			      l->result == CHECK_NO ? "no" : result_names[l->result], "found", l->found, "remedy",
			      l->remedy[0] ? l->remedy : NULL);

	if (!o)
		return -ENOMEM;
	json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(o);
	return 0;
}

static void check_probe_files(struct check_line *l)
{
	struct registry *r = NULL;
	struct fault f = {};

	snprintf(l->what, sizeof(l->what), "runtimes");
	if (registry_load(NULL, &r, &f)) {
		l->result = CHECK_NO;
		snprintf(l->found, sizeof(l->found), "%.150s", f.text);
		return;
	}
	l->result = CHECK_OK;
	snprintf(l->found, sizeof(l->found), "%zu probe files", registry_count(r));
	registry_free(r);
}

static int doctor(const struct doctor_config *c, bool *ret_possible)
{
	struct check_line lines[KERNEL_CHECKS_MAX + 1];
	size_t n = kernel_checks(lines);

	lines[n] = (struct check_line){};
	check_probe_files(&lines[n++]);
	*ret_possible = true;
	for (size_t i = 0; i < n; i++) {
		int err = c->format == OBSERVE_JSON ? print_json(&lines[i]) : print_text(&lines[i]);

		if (err)
			return err;
		*ret_possible = *ret_possible && lines[i].result != CHECK_NO;
	}
	return fflush(stdout) ? -errno : 0;
}

static int run(int argc, char **argv)
{
	struct doctor_config c = {};
	struct fault f = {};
	bool possible = true;
	int operand, err = options_parse(&usage, specs, &c, argc, argv, &operand, &f);

	if (err == OPTIONS_HELP_SHOWN)
		return EXIT_DONE;
	if (!err)
		err = doctor(&c, &possible);
	options_release(specs, &c);
	if (err && err != -EPIPE)
		fault(&f, err, EXIT_FAILED, "the report can't be written; is the disk full?");
	if (err)
		return observe_exit(err, &f);
	return possible ? EXIT_DONE : EXIT_IMPOSSIBLE;
}

const struct command cmd_doctor = { "doctor", "what this kernel and these privileges can do", run };
