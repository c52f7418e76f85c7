/*
 * headers.c - arguments that are also sent as headers: `x-mcp-header` in the definition
 * of a tool (rpc/mirror.h).
 *
 * A modern HTTP upstream gets them with the call. A modern HTTP client has to send them
 * to the gateway, which compares them with the arguments as every server must. An
 * upstream that misses a header has not run the call. Either the definition has changed
 * or it was never listed, so the gateway lists the tools and sends the call again, once.
 */
#include "gate/gate_impl.h"
#include "gate/pins.h"
#include "mcp/call.h"
#include "mcp/era.h"
#include "observe/log/log.h"

static bool wants_headers(const struct fw_upstream *upstream)
{
	return upstream->entry->target.url && fw_remote_is_modern(upstream->remote);
}

bool fw_upstream_learns(struct fw_upstream *upstream, const char *tool, struct fw_slice item)
{
	struct fw_scan_member parts[] = { { .name = "outputSchema" },
					  { .name = "inputSchema" } };
	const char *fault;

	(void)fw_slice_members(item, parts, 2);
	fault = fw_definitions_learn(&upstream->definitions, tool, parts[0].value,
				     parts[1].value);
	if (!fault || !wants_headers(upstream))
		return true;
	{
		const fw_field fields[] = {
			fw_log_text("upstream", upstream->entry->target.name),
			fw_log_text("tool", tool), fw_log_text("reason", fault)
		};

		fw_log_event(FW_LOG_WARNING, "gate", "tool_rejected", fields, 3);
	}
	return false;
}

static const struct fw_mirrors *mirrors_of(const struct fw_job *job)
{
	const char *own = fw_gate_own_name(job);
	const struct fw_request *request = &job->call->request;

	if (request->kind != FW_CALL_TOOL)
		return NULL;
	return fw_definitions_mirrors(&fw_upstream_owner(job->upstream)->definitions,
				      own ? own : request->name);
}

fw_error *fw_job_check_headers(const struct fw_job *job)
{
	const struct fw_mirrors *mirrors = mirrors_of(job);

	/* A call of the HTTP API does not mirror arguments in headers. */
	return mirrors && !job->call->page ? fw_era_check_mirrors(job->call, mirrors) : NULL;
}

bool fw_job_put_headers(const struct fw_job *job, struct fw_mirror_lines *ret_lines)
{
	const struct fw_mirrors *mirrors =
		wants_headers(job->upstream) ? mirrors_of(job) : NULL;

	return !mirrors || fw_mirrors_put(mirrors, job->call->request.arguments, ret_lines);
}

static void on_relisted(void *ctx)
{
	struct fw_job *job = ctx;

	job->gathering = NULL;
	fw_job_start(job);
}

bool fw_job_relists(struct fw_job *job, const struct fw_remote_reply *reply)
{
	if (job->has_relisted || !reply->error.p || job->call->request.kind != FW_CALL_TOOL ||
	    !wants_headers(job->upstream) || !fw_slice_is(reply->scan->code, "-32020"))
		return false;
	job->has_relisted = true;
	fw_gathering_begin(job->gate, FW_LISTING_TOOLS, false, on_relisted, job,
			   &job->gathering);
	return true;
}
