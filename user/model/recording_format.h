/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recording_format.h - what says that a file is a recording, and which: all that who writes one and who reads it share besides
 * fields.h, span_chunk.h and hist_bytes.h. docs/recording.md describes the whole. Reaches disk.
 */
#ifndef LOOPSCOPE_MODEL_RECORDING_FORMAT_H
#define LOOPSCOPE_MODEL_RECORDING_FORMAT_H

#define RECORDING_APPLICATION_ID 0x4c534352 /* "LSCR": at offset 68 of the file, big-endian */
/* PRAGMA user_version; a reader takes its own and older ones. 2: values of a chunk's column may be shifted. */
#define RECORDING_VERSION 2

/* A span that lasts longer stands alone, not in a chunk: so who reads chunks in order has to look no further back than this for
 * what overlaps a moment, and needs memory for no more. */
#define RECORDING_LONG_SPAN_S 10

#endif
