/*
 * tools.c - the tools of the toolset: they read their arguments on the server's thread,
 * and finish when the store's thread has done the rest.
 */
#include "base/json.h"
#include "base/limits.h"
#include "tools/reserve/reserve_impl.h"

#include <faultwire/raise.h>

/* Generated from schemas/. */
extern const struct fw_toolset_file fw_reserve_schemas[];

/* ---- on the store's thread ------------------------------------------------------------- */

static bool put_listed(void *ctx, const struct fw_reservation *reservation)
{
	struct fw_buf *out = ctx;

	if (out->len && out->text[out->len - 1] == '}')
		FW_BUF(out, ",");
	fw_reserve_put(out, reservation);
	return true;
}

static fw_error *do_reserve(struct fw_reserve_job *job, struct fw_store *store)
{
	char ids[FW_RESERVE_PATTERNS][FW_RESERVE_ID_SIZE];
	int64_t now_ms, expires_ms = 0;

	FW_TRY(fw_reserve_take(job->reserve->book, store, &job->request, ids, &expires_ms));
	now_ms = expires_ms - job->request.ttl_ms;
	FW_BUF(&job->out, "{\"reservations\":[");
	for (size_t i = 0; i < job->request.count; i++) {
		const struct fw_reservation made = { .id = ids[i],
						     .agent = job->request.agent,
						     .pattern = job->texts[i],
						     .reason = job->request.reason,
						     .is_exclusive = job->request.is_exclusive,
						     .created_ms = now_ms,
						     .expires_ms = expires_ms };

		(void)put_listed(&job->out, &made);
	}
	FW_BUF(&job->out, "]}");
	return NULL;
}

static fw_error *do_release(struct fw_reserve_job *job, struct fw_store *store)
{
	FW_TRY(fw_reserve_release(job->reserve->book, store, job->request.agent, job->texts,
				  job->request.count));
	FW_BUF(&job->out, "{\"released\":[");
	for (size_t i = 0; i < job->request.count; i++) {
		if (i)
			FW_BUF(&job->out, ",");
		fw_buf_json_str(&job->out, job->texts[i]);
	}
	FW_BUF(&job->out, "]}");
	return NULL;
}

static fw_error *do_release_all(struct fw_reserve_job *job, struct fw_store *store)
{
	FW_BUF(&job->out, "{\"released\":");
	FW_TRY(fw_reserve_release_all(job->reserve->book, store, job->request.agent,
				      &job->out));
	FW_BUF(&job->out, "}");
	return NULL;
}

static fw_error *do_check(struct fw_reserve_job *job, struct fw_store *store)
{
	return fw_reserve_job_check(job, store, false);
}

static fw_error *do_list(struct fw_reserve_job *job, struct fw_store *store)
{
	FW_BUF(&job->out, "{\"reservations\":[");
	FW_TRY(fw_reserve_list(job->reserve->book, store, job->request.agent, put_listed,
			       &job->out));
	FW_BUF(&job->out, "]}");
	return NULL;
}

/* ---- on the server's thread --------------------------------------------------------------- */

/* Reads who calls and the list of texts, if the tool has one. */
static fw_error *read_job(struct fw_reserve_job *job, fw_call *call, const char *list)
{
	const struct fw_json_limits limits = { .bytes = FW_LIMIT_JSON_BYTES, .depth = 4 };
	size_t len = 0;
	const char *json = list ? fw_call_json(call, list, &len) : NULL;

	FW_TRY(fw_reserve_job_identify(job));
	if (!job->agent[0])
		return fw_raise_input_missing_field("agent_id");
	if (!list)
		return NULL;
	job->doc = json ? fw_json_read(json, len, limits, 0, NULL, NULL) : NULL;
	if (!job->doc)
		return fw_raise_internal_out_of_memory();
	fw_reserve_job_take_texts(job, yyjson_doc_get_root(job->doc));
	return NULL;
}

typedef fw_error *job_fn(struct fw_reserve_job *job, struct fw_store *store);

static fw_error *begin(fw_call *call, void *ctx, const char *list, job_fn *work,
		       struct fw_reserve_job **ret_job)
{
	struct fw_reserve_job *job = fw_reserve_job_new(ctx, call);
	fw_error *err;

	if (!job)
		return fw_raise_internal_out_of_memory();
	err = read_job(job, call, list);
	if (err) {
		fw_reserve_job_free(job);
		return err;
	}
	job->work = work;
	*ret_job = job;
	return NULL;
}

static fw_error *reserve_files(fw_call *call, void *ctx)
{
	struct fw_reserve_job *job;
	double minutes = fw_call_f64(call, "ttl_minutes", FW_RESERVE_TTL_MS / 60000.0);

	FW_TRY(begin(call, ctx, "patterns", do_reserve, &job));
	job->request.reason = fw_call_string(call, "reason", NULL);
	job->request.is_exclusive = fw_call_bool(call, "exclusive", true);
	job->request.ttl_ms = minutes * 60000 < FW_RESERVE_TTL_MAX_MS
				      ? (int64_t)(minutes * 60000)
				      : FW_RESERVE_TTL_MAX_MS;
	return fw_reserve_job_submit(job);
}

static fw_error *release_files(fw_call *call, void *ctx)
{
	struct fw_reserve_job *job;

	FW_TRY(begin(call, ctx, "reservation_ids", do_release, &job));
	return fw_reserve_job_submit(job);
}

static fw_error *release_all(fw_call *call, void *ctx)
{
	struct fw_reserve_job *job;

	FW_TRY(begin(call, ctx, NULL, do_release_all, &job));
	return fw_reserve_job_submit(job);
}

static fw_error *check_conflicts(fw_call *call, void *ctx)
{
	struct fw_reserve_job *job;

	FW_TRY(begin(call, ctx, "patterns", do_check, &job));
	job->request.is_exclusive = fw_call_bool(call, "exclusive", true);
	return fw_reserve_job_submit(job);
}

static fw_error *my_reservations(fw_call *call, void *ctx)
{
	struct fw_reserve_job *job;

	FW_TRY(begin(call, ctx, NULL, do_list, &job));
	return fw_reserve_job_submit(job);
}

/* ---- the list ----------------------------------------------------------------------------- */

#define READS "{\"readOnlyHint\":true,\"openWorldHint\":false}"
#define CHANGES "{\"readOnlyHint\":false,\"destructiveHint\":false,\"openWorldHint\":false}"

static const struct {
	const char *name;
	const char *title;
	const char *description;
	fw_handler *handler;
	bool changes;
} tools[] = {
	{ "reserve_files", "Reserve files",
	  "Reserves the files that match globs, so that other agents do not change them: all "
	  "of the patterns, or none if another agent holds an overlapping reservation. "
	  "Patterns are relative to the workspace. A pattern that you hold already is "
	  "renewed.",
	  reserve_files, true },
	{ "release_files", "Release reservations", "Ends reservations of yours, by their ids.",
	  release_files, true },
	{ "release_all", "Release all reservations", "Ends all reservations of yours.",
	  release_all, true },
	{ "check_conflicts", "Check for conflicts",
	  "Which reservations of other agents overlap with these globs. Reserves nothing.",
	  check_conflicts, false },
	{ "my_reservations", "List reservations", "The reservations that you hold.",
	  my_reservations, false },
};

fw_error *fw_reserve_add_tools(struct fw_reserve *reserve)
{
	for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
		fw_tool tool = FW_TOOL_INIT;

		tool.name = tools[i].name;
		tool.title = tools[i].title;
		tool.description = tools[i].description;
		tool.input_schema = fw_toolset_input_schema(fw_reserve_schemas, tool.name);
		tool.annotations = tools[i].changes ? CHANGES : READS;
		tool.handler = tools[i].handler;
		tool.ctx = reserve;
		tool.run = FW_RUN_ASYNC;
		tool.contract = FW_TOOLERROR;
		tool.changes = tools[i].changes;
		FW_TRY(fw_server_add_tool(reserve->server, &tool));
	}
	return NULL;
}
