/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * attach.c - loads a BPF object, attaches all its programs, prints "ready" and holds them until its standard input ends.
 *
 * Usage: attach OBJECT
 */
#include <err.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

int main(int argc, char **argv)
{
	struct bpf_object *obj;
	struct bpf_program *prog;
	char c;

	if (argc != 2)
		errx(2, "usage: attach OBJECT");
	obj = bpf_object__open(argv[1]);
	if (!obj)
		err(1, "%s can't be opened", argv[1]);
	if (bpf_object__load(obj))
		err(1, "%s can't be loaded", argv[1]);
	bpf_object__for_each_program(prog, obj)
		if (!bpf_program__attach(prog))
			err(1, "%s can't be attached", bpf_program__name(prog));
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return 0;
}
