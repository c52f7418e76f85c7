/*
 * outcome.h - what observers get: the outcome of a call, and a chance to refuse
 * it before it runs.
 */
#ifndef FW_MCP_OUTCOME_H
#define FW_MCP_OUTCOME_H

#include <faultwire/call.h>
#include <faultwire/observer.h>
#include <faultwire/tool.h>

/* A tool was called; an observer may refuse it. */
fw_error *fw_mcp_enter(fw_call *call);
/* The tool is about to run; an observer may refuse it. */
fw_error *fw_mcp_admit(fw_call *call);
/* `err` may be NULL. */
fw_outcome fw_outcome_of(fw_call *call, const fw_error *err);
/* The client's name for itself, redacted; NULL: it gave none. */
const char *fw_mcp_client(fw_call *call);
void fw_mcp_report_failing(fw_call *call, fw_error *err);
void fw_mcp_report_session_ended(fw_server *server, const char *session);
void fw_mcp_report_failed(fw_call *call, const fw_error *err);
void fw_mcp_report_finished(fw_call *call, const fw_error *err);

#endif
