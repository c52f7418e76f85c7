/*
 * contracts_errors.h - the errors of bench/contracts.c: their texts, and how the library makes
 * them. A header, so that all is one translation unit.
 */
#ifndef FW_BENCH_CONTRACTS_ERRORS_H
#define FW_BENCH_CONTRACTS_ERRORS_H

#include <faultwire/faultwire.h>

struct text {
	const char *p;
	size_t n;
};

#define T(literal)                                  \
	{                                           \
		"" literal "", sizeof(literal) - 1, \
	}

/* Not const: the floors must read them each time, as the library does. */
static struct {
	struct text kaiza_code, context_code, codeintel_code, codeintel_empty, type,
		owlclaw_code, owlclaw_slug, category, canonical_code, canonical_category,
		canonical_type, retry, severity, origin, delivery, canonical_tool,
		canonical_operation;
	bool recoverable, retryable;
	struct text message, wrapped, role, session_id, workspace_root, tool, phase_id,
		plan_hash, invariant_id, cause_message, cause_code, cause_name, timestamp, path,
		operation, title_invalid, conflict, conflicts, limited, incident, title_limited,
		client, query, timeout, title_search, hint, could_not, client_id, trace_id,
		missing;
	int64_t start_line, end_line, status_invalid, status_limited, status_search, limit;
	double delay;
} plain = {
	.kaiza_code = T("PLAN_SCOPE_VIOLATION"),
	.context_code = T("cache_missing"),
	.codeintel_code = T("invalid-parameter"),
	.codeintel_empty = T("\"path\":\"\",\"content\":\"\",\"lines\":0,\"size\":0"),
	.type = T("CONFLICT"),
	.owlclaw_code = T("governance.rate_limited"),
	.owlclaw_slug = T("governance-rate-limited"),
	.category = T("governance"),
	.canonical_code = T("search.timeout"),
	.canonical_category = T("runtime"),
	.canonical_type = T("TRANSIENT"),
	.retry = T("backoff"),
	.severity = T("warning"),
	.origin = T("tool"),
	.delivery = T("sent"),
	.canonical_tool = T("search_text"),
	.canonical_operation = T("search:text"),
	.recoverable = true,
	.retryable = true,
	.message = T("could not write \"upload.c\"\n(scope: src/client/**)"),
	.role = T("WINDSURF"),
	.session_id = T("550e8400-e29b-41d4-a716-446655440000"),
	.workspace_root = T("/home/user/projects/faultwire"),
	.tool = T("write_file"),
	.phase_id = T("PHASE_5A"),
	.plan_hash = T("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
	.cause_message =
		T("path src/server/handlers/upload.c is outside the scope of plan 9f86d081"),
	.cause_code = T("plan.scope_violation"),
	.cause_name = T("fw_error"),
	.timestamp = T("2026-01-19T15:32:10.123Z"),
	.path = T("src/main.py"),
	.operation = T("files:open_file"),
	.title_invalid = T("Invalid Parameter"),
	.wrapped = T("start_line must be a positive integer"),
	.conflict = T("reservation conflict: 2 conflicts"),
	.conflicts = T(
		"[{\"agent_id\":\"agent-2\",\"pattern\":\"src/*.go\",\"held_by\":\"agent-2\","
		"\"reservation_id\":\"r-17\",\"expires_at\":\"2026-01-19T15:47:10Z\"},"
		"{\"agent_id\":\"agent-3\",\"pattern\":\"src/main.go\",\"held_by\":\"agent-3\","
		"\"reservation_id\":\"r-18\",\"expires_at\":\"2026-01-19T15:50:00Z\"}]"),
	.limited = T("rate limited"),
	.incident = T("inc_20260119_mfrggzdfmztwq2lk"),
	.title_limited = T("Rate Limited"),
	.client = T("agent-7"),
	.query = T("def main"),
	.timeout = T("Search timeout"),
	.title_search = T("Vector Search Error"),
	.hint = T("Try a narrower query, or try again later."),
	.could_not = T("could not search the workspace"),
	.client_id = T("claude-desktop"),
	.trace_id = T("4bf92f3577b34da6a3ce929d0e0e4736"),
	.missing = T("Cache does not exist"),
	.start_line = 0,
	.end_line = 10,
	.status_invalid = 400,
	.status_limited = 429,
	.status_search = 503,
	.limit = 60,
	.delay = 30,
};

static fw_error *make_kaiza(void)
{
	const fw_scope scope = {
		.tool = plain.tool.p,
		.role = plain.role.p,
		.session_id = plain.session_id.p,
		.workspace_root = plain.workspace_root.p,
		.phase_id = plain.phase_id.p,
		.plan_hash = plain.plan_hash.p,
	};
	fw_error *err =
		fw_raise_plan_scope_violation("9f86d081", "src/server/handlers/upload.c");

	err = fw_error_wrap(err, FW_HERE, "%s", plain.message.p);
	fw_error_fill_scope(err, &scope);
	fw_error_set_time(err, INT64_C(1768836730123));
	return err;
}

static fw_error *make_context_v0(void)
{
	return fw_raise_cache_missing();
}

static fw_error *make_codeintel(void)
{
	const fw_scope scope = { .operation = plain.operation.p };
	fw_error *err = fw_raise_input_invalid_line_range(plain.path.p, &plain.start_line,
							  &plain.end_line, plain.wrapped.p);

	fw_error_fill_scope(err, &scope);
	return err;
}

static fw_error *make_toolerror(void)
{
	fw_error *err = fw_raise_reservation_conflict(2, plain.conflicts.p);

	fw_error_set_recoverable(err, true);
	return err;
}

static fw_error *make_owlclaw(void)
{
	fw_error *err = fw_raise_governance_rate_limited();

	fw_error_add_string(err, "client", plain.client.p);
	fw_error_add_i64(err, "limit", plain.limit);
	fw_error_set_retry_after(err, plain.delay);
	fw_error_set_incident_id(err, plain.incident.p);
	return err;
}

static fw_error *make_canonical(void)
{
	const fw_scope scope = {
		.tool = plain.canonical_tool.p,
		.operation = plain.canonical_operation.p,
		.session_id = plain.session_id.p,
		.client = plain.client_id.p,
		.trace_id = plain.trace_id.p,
	};
	fw_error *err = fw_raise_search_timeout(plain.query.p);

	err = fw_error_wrap(err, FW_HERE, "%s", plain.could_not.p);
	fw_error_set_hint(err, plain.hint.p);
	fw_error_set_delivery(err, FW_SENT);
	fw_error_set_retry_after(err, plain.delay);
	fw_error_fill_scope(err, &scope);
	fw_error_set_incident_id(err, plain.incident.p);
	fw_error_set_time(err, INT64_C(1768836730123));
	return err;
}

static fw_error *(*const make[FW_CONTRACT_COUNT])(void) = {
	[FW_CANONICAL] = make_canonical,   [FW_KAIZA] = make_kaiza,
	[FW_CONTEXT_V0] = make_context_v0, [FW_CODEINTEL] = make_codeintel,
	[FW_TOOLERROR] = make_toolerror,   [FW_OWLCLAW] = make_owlclaw,
	[FW_OWLCLAW_API] = make_owlclaw,
};

#endif
