/* SPDX-License-Identifier: BSD-2-Clause */
/* html_part.c - see html_part.h. */
#include "sink/html_part.h"

#include <errno.h>
#include <string.h>

#include "sink/output.h"

#define ELEMENT "<script type=\"application/json\" id=\"data-"

int html_json_flush(struct html_page *p, struct fault *f)
{
	const char *at = p->json.text, *end;
	int err = 0;

	if (p->json.failed)
		return fault(f, -ENOMEM, EXIT_FAILED, "no memory for the HTML report; choose a shorter range, or free some");
	if (!at)
		return 0;
	end = at + p->json.len;
	while (!err && at < end) {
		const char *hit = memchr(at, '<', (size_t)(end - at));
		size_t n = (size_t)((hit ? hit : end) - at);

		err = output_write(p->out, at, n, f);
		if (!err && hit)
			err = output_write(p->out, "\\u003c", 6, f);
		at += n + (hit != NULL);
	}
	p->json.len = 0;
	return err;
}

static int element_begin(struct html_page *p, const char *id, struct fault *f)
{
	int err = output_write(p->out, ELEMENT, strlen(ELEMENT), f);

	if (!err)
		err = output_write(p->out, id, strlen(id), f);
	if (!err)
		err = output_write(p->out, "\">\n", 3, f);
	p->json.len = 0;
	p->json.comma = false;
	return err;
}

static int element_end(struct html_page *p, struct fault *f)
{
	static const char end[] = "</script>\n";
	int err = html_json_flush(p, f);

	return err ? err : output_write(p->out, end, sizeof(end) - 1, f);
}

int html_rows_begin(struct html_page *p, const char *id, const char *const *columns, struct fault *f)
{
	int err = element_begin(p, id, f);

	json_object_begin(&p->json, NULL);
	json_array_begin(&p->json, "columns");
	for (size_t i = 0; columns[i]; i++)
		json_put_text(&p->json, NULL, columns[i], SIZE_MAX);
	json_array_end(&p->json);
	json_array_begin(&p->json, "rows");
	p->comma = false;
	return err ? err : html_json_flush(p, f);
}

void html_row_begin(struct html_page *p)
{
	p->json.comma = p->comma;
	json_array_begin(&p->json, NULL);
	p->comma = true;
}

int html_row_end(struct html_page *p, struct fault *f)
{
	json_array_end(&p->json);
	return html_json_flush(p, f);
}

int html_rows_end(struct html_page *p, struct fault *f)
{
	json_array_end(&p->json);
	json_object_end(&p->json);
	return element_end(p, f);
}

int html_object_begin(struct html_page *p, const char *id, struct fault *f)
{
	int err = element_begin(p, id, f);

	json_object_begin(&p->json, NULL);
	return err;
}

int html_object_end(struct html_page *p, struct fault *f)
{
	json_object_end(&p->json);
	return element_end(p, f);
}
