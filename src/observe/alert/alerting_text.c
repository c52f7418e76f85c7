/*
 * alerting_text.c - see alerting_text.h.
 */
#include "observe/alert/alerting_text.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

void fw_alerting_name(const fw_row *row, char ret_name[FW_ALERTING_NAME_SIZE])
{
	size_t len = (size_t)snprintf(ret_name, FW_ALERTING_NAME_SIZE, "Faultwire");
	bool is_first = true;

	for (const char *at = row->code; *at && len < FW_ALERTING_NAME_SIZE - 1; at++) {
		if (*at == '.' || *at == '_') {
			is_first = true;
			continue;
		}
		ret_name[len++] = is_first && *at >= 'a' && *at <= 'z' ? (char)(*at - 32) : *at;
		is_first = false;
	}
	ret_name[len] = '\0';
}

static void put_member(struct fw_buf *out, const char *name, const char *value)
{
	fw_buf_json_key(out, name);
	fw_buf_json_str(out, value);
}

static void put_time(struct fw_buf *out, const char *name, int64_t unix_ms)
{
	char text[FW_TIME_SIZE];

	(void)fw_time_text(unix_ms, text);
	put_member(out, name, text);
}

static void put_events(struct fw_buf *out, const struct fw_alerting_fact *fact)
{
	FW_BUF(out, ",\"events\":");
	fw_buf_i64(out, (int64_t)fact->events);
	if (fact->incident_id[0])
		put_member(out, "incident_id", fact->incident_id);
}

void fw_alerting_put(struct fw_buf *out, const struct fw_alerting_fact *fact)
{
	char name[FW_ALERTING_NAME_SIZE];

	fw_alerting_name(fact->row, name);
	FW_BUF(out, "{");
	put_member(out, "name", name);
	put_member(out, "state", fact->is_firing ? "firing" : "resolved");
	put_member(out, "severity", fw_severity_name(fact->row->severity));
	put_member(out, "code", fact->row->code);
	put_member(out, "client", fact->client);
	put_member(out, "title", fact->row->title);
	put_member(out, "hint", fact->row->hint);
	put_time(out, "since", fact->since_unix_ms);
	put_time(out, "last", fact->last_unix_ms);
	put_time(out, "over", fact->over_unix_ms);
	put_events(out, fact);
	FW_BUF(out, "}");
}

void fw_alerting_put_alertmanager(struct fw_buf *out, const struct fw_alerting_fact *fact,
				  const char *server, int64_t ends_unix_ms)
{
	char name[FW_ALERTING_NAME_SIZE], events[24];

	fw_alerting_name(fact->row, name);
	FW_BUF(out, "{\"labels\":{");
	put_member(out, "alertname", name);
	put_member(out, "code", fact->row->code);
	put_member(out, "severity", fw_severity_name(fact->row->severity));
	put_member(out, "client", fact->client);
	if (server && *server)
		put_member(out, "server", server);
	FW_BUF(out, "},\"annotations\":{");
	put_member(out, "summary", fact->row->title);
	put_member(out, "description", fact->row->hint);
	(void)snprintf(events, sizeof events, "%llu", (unsigned long long)fact->events);
	put_member(out, "events", events);
	if (fact->incident_id[0])
		put_member(out, "incident_id", fact->incident_id);
	FW_BUF(out, "}");
	put_time(out, "startsAt", fact->since_unix_ms);
	put_time(out, "endsAt", ends_unix_ms);
	FW_BUF(out, "}");
}

void fw_alerting_put_log(struct fw_buf *out, const struct fw_alerting_fact *fact,
			 int64_t unix_ms)
{
	bool is_critical = fact->row->severity == FW_CRITICAL;

	FW_BUF(out, "{");
	put_time(out, "time", unix_ms);
	put_member(out, "level",
		   !fact->is_firing ? "info"
		   : is_critical    ? "critical"
				    : "warning");
	put_member(out, "component", "alerts");
	put_member(out, "event", fact->is_firing ? "alert firing" : "alert resolved");
	put_member(out, "error_code", fact->row->code);
	put_member(out, "client", fact->client);
	put_time(out, "since", fact->since_unix_ms);
	put_events(out, fact);
	FW_BUF(out, "}\n");
}
