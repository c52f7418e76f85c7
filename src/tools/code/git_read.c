/*
 * git_read.c - see git_read.h.
 */
#include "tools/code/git_read.h"

#include <string.h>

#include "base/buf.h"

#include <faultwire/raise.h>

struct reading {
	const struct fw_git_reader *reader;
	struct fw_buf input; /* an incomplete record */
	bool has_no_memory;
	bool has_record;
};

static bool take(void *ctx, const char *bytes, size_t len)
{
	struct reading *r = ctx;
	const struct fw_git_reader *reader = r->reader;

	while (len) {
		const char *end = memchr(bytes, reader->separator, len);
		size_t part = end ? (size_t)(end - bytes) : len;
		size_t room = reader->most - r->input.len;

		fw_buf_put(&r->input, bytes, part < room ? part : room);
		if (end) {
			r->has_record = true;
			if (!reader->record(reader->ctx, r->input.len ? r->input.text : "",
					    r->input.len))
				r->has_no_memory = true;
			r->input.len = 0;
		}
		bytes += part + (end != NULL);
		len -= part + (end != NULL);
	}
	r->has_no_memory = r->has_no_memory || r->input.state != FW_BUF_OK;
	return !r->has_no_memory;
}

static bool is_cancelled(void *ctx)
{
	const struct reading *r = ctx;

	return fw_call_is_cancelled(r->reader->call);
}

fw_error *fw_git_read(const struct fw_git *git, const struct fw_git_reader *reader)
{
	struct reading r = { .reader = reader };
	struct fw_git own = *git;
	fw_error *err;

	own.take = take;
	own.is_cancelled = is_cancelled;
	own.ctx = &r;
	fw_buf_init(&r.input, reader->most + 1);
	err = fw_git_run(&own);
	/* If it failed with the graph, which may be damaged or out of date, try without it. */
	if (err && own.directory && !r.has_record) {
		fw_error_free(err);
		own.directory = NULL;
		r.input.len = 0;
		err = fw_git_run(&own);
	}
	fw_buf_clear(&r.input);
	if (r.has_no_memory) {
		fw_error_free(err);
		return fw_raise_internal_out_of_memory();
	}
	return err;
}
