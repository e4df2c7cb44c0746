/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_links.c - see kernel_links.h. */
#include "source/kernel_links.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

static void close_one(struct bpf_link *link, int fd)
{
	if (link)
		bpf_link__destroy(link);
	else
		close(fd);
}

static int add(struct kernel_links *l, struct bpf_link *link, int fd)
{
	if (l->n == KERNEL_LINKS_MAX) {
		close_one(link, fd);
		return -ENOSPC;
	}
	l->v[l->n].link = link;
	l->v[l->n++].fd = fd;
	return 0;
}

int kernel_links_add(struct kernel_links *l, struct bpf_link *link)
{
	return link ? add(l, link, -1) : -errno;
}

int kernel_links_add_fd(struct kernel_links *l, int fd)
{
	return fd >= 0 ? add(l, NULL, fd) : -errno;
}

static void close_all(struct kernel_links *l)
{
	for (size_t i = 0; i < l->n; i++)
		close_one(l->v[i].link, l->v[i].fd);
	l->n = 0;
}

/* Grace periods that are waited for at the same time are mostly one and the same. */
#define CLOSERS 8

struct closer {
	pthread_t thread;
	struct letting_go *of;
	size_t first; /* and each CLOSERS-th after it */
	bool runs;
};

struct letting_go {
	struct kernel_links links;
	struct closer closers[CLOSERS];
};

static void *close_some(void *arg)
{
	const struct closer *c = arg;

	for (size_t i = c->first; i < c->of->links.n; i += CLOSERS)
		close_one(c->of->links.v[i].link, c->of->links.v[i].fd);
	return NULL;
}

void kernel_links_wait(struct kernel_links *l)
{
	if (!l->letting_go)
		return;
	for (size_t i = 0; i < CLOSERS; i++)
		if (l->letting_go->closers[i].runs)
			pthread_join(l->letting_go->closers[i].thread, NULL);
	free(l->letting_go);
	l->letting_go = NULL;
}

void kernel_links_let_go(struct kernel_links *l)
{
	struct letting_go *g;

	kernel_links_wait(l);
	g = l->n ? calloc(1, sizeof(*g)) : NULL;
	if (!g) {
		close_all(l);
		return;
	}
	memcpy(g->links.v, l->v, l->n * sizeof(l->v[0]));
	g->links.n = l->n;
	for (size_t i = 0; i < CLOSERS && i < l->n; i++) {
		struct closer *c = &g->closers[i];

		c->of = g;
		c->first = i;
		c->runs = !pthread_create(&c->thread, NULL, close_some, c);
		if (!c->runs)
			close_some(c);
	}
	l->n = 0;
	l->letting_go = g;
}
