/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * container.h - which container and which pod a control group's path names.
 *
 * Docker, containerd, CRI-O and podman name a container's group after its id of 64 hexadecimal digits, alone or between other
 * words ("docker-ID.scope", "cri-containerd-ID.scope", "...:cri-containerd:ID"); Kubernetes names a pod's after its UID
 * ("pod1234abcd-...", with '_' for '-' under systemd, or 32 digits for static pods). The innermost of each is taken. A path
 * is hostile: who may make control groups may name them so.
 */
#ifndef LOOPSCOPE_MODEL_CONTAINER_H
#define LOOPSCOPE_MODEL_CONTAINER_H

#include <stdbool.h>

#define CONTAINER_ID_LEN 64
#define POD_UID_LEN 36

/* False, and "" in ret, where the path names none. */
bool container_id(const char *cgroup, char ret[CONTAINER_ID_LEN + 1]);
bool container_pod_uid(const char *cgroup, char ret[POD_UID_LEN + 1]);

#endif
