/*
 * tools.c - the three tools.
 *
 * The contract has a separate code for each invalid argument, which the server's
 * schema check cannot produce. So the schema only informs clients, and the handlers
 * check their arguments themselves, in the order query, budget, cache; if several are
 * invalid, the same one is always reported.
 *
 * The result is text without structured content: the contract defines the bytes of
 * the text, and a second copy would double what a model has to read.
 */
#include "tools/context/context.h"

#include <string.h>

#include "base/digest.h"
#include "base/limits.h"
#include "tools/toolset.h"

#include <faultwire/raise.h>

/* Generated from schemas/. */
extern const struct fw_toolset_file fw_context_schemas[];

static bool is_cancelled(void *ctx)
{
	return fw_call_is_cancelled(ctx);
}

static void say(fw_call *call, fw_error *err, struct fw_buf *out)
{
	if (!err)
		fw_call_text_n(call, out->text, out->len);
	fw_buf_clear(out);
}

static fw_error *resolve(fw_call *call, void *ctx)
{
	struct fw_context_request request = { .max_bytes = FW_LIMIT_CONTEXT_RESULT_BYTES };
	const struct fw_context_run run = { .is_cancelled = is_cancelled, .ctx = call };
	struct fw_buf out;
	const char *budget;
	size_t budget_len = 0;
	fw_error *err;

	request.query = fw_call_string(call, "query", &request.query_len);
	request.cache = fw_call_string(call, "cache", &request.cache_len);
	budget = fw_call_json(call, "budget", &budget_len);
	if (!budget || !fw_context_budget_read(budget, budget_len, &request.budget))
		request.budget = -1;
	fw_buf_init(&out, request.max_bytes);
	err = fw_context_resolve(ctx, &request, &run, &out);
	say(call, err, &out);
	return err;
}

static fw_error *inspect(fw_call *call, void *ctx)
{
	const struct fw_context_run run = { .is_cancelled = is_cancelled, .ctx = call };
	struct fw_context_facts facts;
	struct fw_buf out;
	size_t len = 0;
	const char *cache = fw_call_string(call, "cache", &len);

	FW_TRY(fw_context_inspect(ctx, cache, len, &run, &facts));
	fw_buf_init(&out, FW_LIMIT_CONTEXT_RESULT_BYTES);
	fw_context_put_facts(&out, &facts);
	say(call, NULL, &out);
	return NULL;
}

static fw_error *list(fw_call *call, void *ctx)
{
	struct fw_buf out;
	fw_error *err;

	fw_buf_init(&out, FW_LIMIT_CONTEXT_RESULT_BYTES);
	err = fw_context_put_list(ctx, &out);
	say(call, err, &out);
	return err;
}

fw_error *fw_context_add(fw_server *server, struct fw_context_store *store, fw_run run,
			 fw_workers *workers)
{
	fw_tool tool = FW_TOOL_INIT;

	/* Libraries cannot be loaded inside a sandbox: load it now. */
	if (run == FW_RUN_PROCESS && !fw_digest_load())
		return fw_raise_internal_unsupported("a context cache without libcrypto");
	tool.annotations =
		"{\"readOnlyHint\":true,\"idempotentHint\":true,\"openWorldHint\":false}";
	tool.contract = FW_CONTEXT_V0;
	tool.run = run;
	tool.workers = workers;
	tool.checks_arguments = true;
	tool.ctx = store;
	tool.name = "context.resolve";
	tool.title = "Resolve context";
	tool.description =
		"Gives the documents of a cache that fit a query best, within a budget of "
		"tokens, each with its score and why. The same question always gives the same "
		"bytes.";
	tool.input_schema = fw_toolset_input_schema(fw_context_schemas, tool.name);
	tool.handler = resolve;
	tool.operation = "context:resolve";
	FW_TRY(fw_server_add_tool(server, &tool));
	tool.name = "context.list_caches";
	tool.title = "List caches";
	tool.description = "Gives the names of the caches that there are.";
	tool.input_schema = fw_toolset_input_schema(fw_context_schemas, tool.name);
	tool.handler = list;
	tool.operation = "context:list_caches";
	FW_TRY(fw_server_add_tool(server, &tool));
	tool.name = "context.inspect_cache";
	tool.title = "Inspect a cache";
	tool.description = "Gives a cache's version, how many documents and bytes it has, and "
			   "whether it is valid: nothing in it missing, changed or added.";
	tool.input_schema = fw_toolset_input_schema(fw_context_schemas, tool.name);
	tool.handler = inspect;
	tool.operation = "context:inspect_cache";
	return fw_server_add_tool(server, &tool);
}
