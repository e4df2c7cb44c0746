/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text.h - bytes that somebody else chose, and times, as text that is safe to show.
 *
 * comm, paths, symbols and serial bytes are hostile: they may hold escape sequences, broken UTF-8 or no NUL at all.
 * A source is read up to its first NUL or for max bytes, whichever comes first, so that a char[16] without a NUL is a
 * fine argument. The output is always NUL-terminated where size > 0, never exceeds size and is cut between characters.
 * No allocation, no locale, no errors.
 */
#ifndef LOOPSCOPE_LIB_TEXT_H
#define LOOPSCOPE_LIB_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Sizes of output buffers that never cut n source bytes. */
#define TEXT_ESCAPED_SIZE(n) (4 * (n) + 1)
#define TEXT_UTF8_SIZE(n) (3 * (n) + 1)
/* Of either duration below: 20 digits and a unit. */
#define TEXT_DURATION_SIZE 24

/*
 * For terminals: one line, and nothing that moves the cursor, changes colours or turns the direction of writing.
 * Control characters become "\x1b", invisible and direction-turning ones "\u202e", bytes that are not UTF-8 "\xff".
 * A backslash stays one, so that a second pass changes nothing; hence "\x1b" does not tell whether the source held one
 * byte or four. Returns the length of dst.
 */
size_t text_escape_control(char *dst, size_t size, const char *src, size_t max);

/* The same for a quote in a sentence: what does not fit is cut, and the cut is marked by "..." (if size is at least 4).
 * Returns the length of dst. */
size_t text_quote(char *dst, size_t size, const char *src, size_t max);

/*
 * For JSON and labels: valid UTF-8, control characters kept (their escaping is the format's job). What is invalid
 * becomes U+FFFD, one for each maximal ill-formed part (Unicode, chapter 3, "U+FFFD Substitution of Maximal Subparts").
 * Returns the length of dst.
 */
size_t text_to_utf8(char *dst, size_t size, const char *src, size_t max);

/*
 * Three significant digits and the unit that suits: "83.0ms", "250us", "1.50s", "7ns", "1.50m", "2.00h". Below 1 us
 * whole nanoseconds, from 1000 h on whole hours. Rounded half up; parse_duration() reads it back. Returns dst.
 */
char *text_duration(char *dst, size_t size, uint64_t ns);

/* Not rounded, in the largest unit that needs no fraction: "50ms", "1500ms", "1h"; 0 is "0s". For limits and defaults,
 * which have to be what they say. Returns dst. */
char *text_duration_exact(char *dst, size_t size, uint64_t ns);

#endif
