/* SPDX-License-Identifier: BSD-2-Clause */
/* metrics_own.c - the program's own numbers: see metrics.h, metrics_own(). */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/metrics_internal.h"

static bool is_same(const struct own_metric *o, const struct metric_family *f, const struct metric_label *labels, size_t n)
{
	char safe[METRIC_LABEL_MAX];

	if (strcmp(o->family->name, f->name) || o->n_labels != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		label_value(safe, labels[i].value, SIZE_MAX);
		if (strcmp(o->labels[i].name, labels[i].name) || strcmp(o->labels[i].value, safe))
			return false;
	}
	return true;
}

static int fill(struct own_metric *o, const struct metric_family *f, const struct metric_label *labels, size_t n)
{
	char *at = malloc(n ? n * METRIC_LABEL_MAX : 1);

	if (!at)
		return -ENOMEM;
	*o = (struct own_metric){ .family = f, .n_labels = n, .text = at };
	for (size_t i = 0; i < n; i++) {
		o->labels[i] = (struct metric_label){ labels[i].name, at };
		if (labels[i].value[0])
			o->shown[o->n_shown++] = o->labels[i];
		at += label_value(at, labels[i].value, SIZE_MAX) + 1;
	}
	return 0;
}

int metrics_own(struct metrics *m, const struct metric_family *f, const struct metric_label *labels, size_t n_labels, double value)
{
	size_t i = 0;

	if (n_labels > METRICS_OWN_LABELS)
		return -EINVAL;
	while (i < m->n_own && !is_same(&m->own[i], f, labels, n_labels))
		i++;
	if (i == m->n_own) {
		int err = m->n_own < METRICS_OWN_MAX ? fill(&m->own[i], f, labels, n_labels) : -ENOSPC;

		if (err)
			return err;
		m->n_own++;
	}
	m->own[i].value = value;
	return 0;
}

void metrics_own_free(struct metrics *m)
{
	for (size_t i = 0; i < m->n_own; i++)
		free(m->own[i].text);
	m->n_own = 0;
}

static bool is_first_of_family(const struct metrics *m, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (!strcmp(m->own[i].family->name, m->own[at].family->name))
			return false;
	return true;
}

int metrics_own_visit(struct metrics *m, const struct metrics_visitor *v, void *arg)
{
	struct family_visit fv = { .v = v, .arg = arg };

	for (size_t i = 0; i < m->n_own; i++) {
		if (!is_first_of_family(m, i))
			continue;
		family_visit(&fv, m->own[i].family);
		for (size_t k = i; k < m->n_own; k++) {
			const struct own_metric *o = &m->own[k];

			if (!isnan(o->value) && !strcmp(o->family->name, m->own[i].family->name))
				family_value(&fv, o->shown, o->n_shown, NULL, NULL, o->value, m->o.start_s);
		}
	}
	return fv.err;
}
