/* SPDX-License-Identifier: BSD-2-Clause */
/* html_base64.h - bytes as base64 (RFC 4648), written straight out. */
#ifndef LOOPSCOPE_SINK_HTML_BASE64_H
#define LOOPSCOPE_SINK_HTML_BASE64_H

#include <stddef.h>
#include <stdio.h>

#include "lib/fault.h"

/* Errors as in output.h. */
int html_base64_write(FILE *out, const unsigned char *bytes, size_t n, struct fault *f);

#endif
