/*
 * legacy.c - the second connection to an upstream of both eras.
 *
 * A tool that asks its client something may be able to do so only in the way of the era in
 * which it was called, so a legacy client is best served by a legacy connection. With one
 * client, the handshake already follows its era (fw_remote_prefer_legacy()). With many, an
 * upstream is connected before any has come, in the modern era if it has that; the first
 * request of a legacy client then opens a second connection. A server/discover does not tell
 * whether a server speaks the legacy era, too, so this is found out by trying; an upstream
 * that refuses gets the requests of legacy clients by the first connection, translated.
 *
 * Lists of tools always come by the first connection: pins and schemas belong to one list.
 */
#include <string.h>

#include "base/mem.h"
#include "gate/gate_impl.h"
#include "gate/pins.h"
#include "mcp/call.h"
#include "mcp/method.h"
#include "mcp/request.h"
#include "rpc/names.h"

struct fw_upstream *fw_upstream_owner(struct fw_upstream *upstream)
{
	return upstream->owner ? upstream->owner : upstream;
}

static void add_legacy(struct fw_upstream *upstream)
{
	struct fw_gate *gate = upstream->gate;
	struct fw_upstream *legacy = fw__allocate(sizeof *legacy);
	fw_error *err;

	if (!legacy)
		return;
	err = fw_upstream_init(legacy, gate, upstream->entry, FW_REMOTE_LEGACY);
	if (err) {
		fw_error_free(err);
		fw__release(legacy);
		return;
	}
	legacy->owner = upstream;
	legacy->is_settled = true; /* no client waits for its handshake to know the server */
	legacy->log_level = upstream->log_level;
	if (gate->capabilities.len && gate->capabilities.state == FW_BUF_OK)
		fw_remote_set_capabilities(legacy->remote, gate->capabilities.text);
	upstream->legacy = legacy;
}

struct fw_upstream *fw_upstream_for(struct fw_upstream *upstream, const fw_call *call)
{
	if (!upstream->gate->options.is_http || call->request.is_modern || call->page ||
	    upstream->is_modern_only ||
	    fw_upstream_era(upstream->gate, upstream->entry) != FW_REMOTE_AUTO ||
	    strcmp(call->request.method_name, FW_METHOD_TOOLS_LIST) == 0)
		return upstream;
	/* Without memory for it, the first connection serves as well as it can. */
	if (!upstream->legacy && fw_remote_is_modern(upstream->remote))
		add_legacy(upstream);
	return upstream->legacy ? upstream->legacy : upstream;
}

bool fw_upstream_falls_back(struct fw_upstream *upstream)
{
	struct fw_upstream *owner = upstream->owner;

	if (!owner || fw_remote_hello(upstream->remote).p)
		return false;
	owner->is_modern_only = true;
	while (upstream->waiting) {
		struct fw_job *job = upstream->waiting;

		fw_job_unlink(job);
		job->upstream = owner;
		fw_job_start(job);
	}
	return true;
}
