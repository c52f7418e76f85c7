/*
 * govern_call.c - what the authority does with a call: scopes, then limits, then budgets.
 */
#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "govern/govern_impl.h"
#include "govern/scope.h"
#include "mcp/call.h"

static fw_error *check_scope(const fw_call *call, const fw_principal *principal)
{
	struct fw_scope_tool tool = { .name = call->request.name };
	char action[FW_SCOPE_SIZE + 16], scope[FW_SCOPE_SIZE];

	if (!fw_scope_binds(principal))
		return NULL;
	tool.toolset = fw_authority_toolset(call);
	tool.changes = fw_authority_may_change(call);
	if (fw_scope_covers_tool(principal, &tool))
		return NULL;
	(void)snprintf(action, sizeof action, "call tool %.*s", FW_SCOPE_SIZE, tool.name);
	(void)snprintf(scope, sizeof scope, "tool:%.*s", FW_SCOPE_SIZE - 8, tool.name);
	return fw_govern__forbidden(action, scope);
}

fw_error *fw_govern__read(struct fw_authority *authority, const fw_call *call)
{
	const char *scope = call->request.method ? "read" : "admin";
	char action[64];

	(void)authority;
	if (fw_scope_covers(fw_call_principal(call), scope))
		return NULL;
	(void)snprintf(action, sizeof action, "use %.40s", call->request.method_name);
	return fw_govern__forbidden(action, scope);
}

fw_error *fw_govern__enter(struct fw_authority *authority, fw_call *call)
{
	(void)authority;
	return check_scope(call, fw_call_principal(call));
}

fw_error *fw_govern__admit(struct fw_authority *authority, fw_call *call, bool *ret_waits)
{
	(void)authority;
	(void)call;
	(void)ret_waits;
	return NULL;
}

void fw_govern__ended(struct fw_authority *authority, fw_call *call, const fw_error *err)
{
	(void)authority;
	(void)err;
	call->run.grant.account = NULL;
}
