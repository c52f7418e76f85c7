/*
 * legacy.c - the second connection to an upstream of both eras.
 *
 * Some tools ask their client questions only in the era in which they were called, so a
 * legacy client is best served by a legacy connection. With one client, the handshake
 * already follows its era (fw_remote_prefer_legacy()). With many clients, an upstream is
 * connected before the first client comes, in the modern era if it supports that. The
 * first request of a legacy client then opens a second connection. The answer to
 * server/discover does not say whether a server also speaks the legacy era, so the
 * gateway tries it. If the upstream refuses, requests of legacy clients are translated
 * and sent over the first connection.
 *
 * Tools are always listed over the first connection, because pins and schemas belong to
 * one list.
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
	/* If there is no memory for a second connection, the first one is used. */
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
