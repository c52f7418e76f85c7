/*
 * api_event.c - outcomes of requests as they happen, as a stream of events.
 *
 * Each event is written once and sent to every stream. A client that does not read is
 * cut off by the transport; what it has missed is in the audit log and the incidents.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <faultwire/error.h>
#include <faultwire/raise.h>

#include "api/api_impl.h"
#include "base/clock.h"

enum { EVENT_BYTES = 16 * 1024 };

fw_error *fw_api_stream_events(fw_page *page, void *ctx)
{
	struct fw_api *api = ctx;
	static const char hello[] = "{\"api_version\":\"" FW_API_VERSION "\"}";
	const fw_page_event event = { .data = hello, .len = sizeof hello - 1, .name = "ready" };
	fw_error *err;

	FW_TRY(fw_api_enter(api, page));
	if (api->stream_count == FW_API_STREAMS) {
		err = fw_raise_server_overloaded(FW_API_STREAMS, "event streams");
		fw_error_set_retry_after(err, 1);
		return err;
	}
	FW_TRY(fw_page_keep(page));
	if (!fw_page_send(page, &event)) {
		fw_page_finish(page, NULL);
		return NULL;
	}
	api->streams[api->stream_count++] = page;
	return NULL;
}

void fw_api_drop_stream(fw_page *page, void *ctx)
{
	struct fw_api *api = ctx;

	for (size_t i = 0; i < api->stream_count; i++) {
		if (api->streams[i] != page)
			continue;
		api->streams[i] = api->streams[--api->stream_count];
		fw_page_finish(page, NULL);
		return;
	}
}

static void put_text(struct fw_buf *out, const char *key, const char *value)
{
	if (!value)
		return;
	fw_buf_json_key(out, key);
	fw_buf_json_str(out, value);
}

static void put_error(struct fw_buf *out, const fw_error *err)
{
	const fw_row *row = fw_error_row(err);

	put_text(out, "code", row->code);
	put_text(out, "category", fw_category_name(row->category));
	fw_buf_json_key(out, "status");
	fw_buf_i64(out, fw_error_status(err));
	fw_buf_json_key(out, "retryable");
	fw_buf_str(out, row->retry == FW_RETRY_BACKOFF ? "true" : "false");
	put_text(out, "incident_id", fw_error_incident_id(err));
	put_text(out, "message", fw_error_message(err));
}

static void put_outcome(struct fw_buf *out, const fw_outcome *outcome)
{
	static const char *const kinds[FW_OUTCOME_COUNT] = { "result", "tool_error",
							     "protocol_error",
							     "transport_error" };

	FW_BUF(out, "{\"time_ms\":");
	fw_buf_i64(out, fw_unix_ms());
	put_text(out, "outcome", kinds[outcome->kind]);
	put_text(out, "method", outcome->method);
	put_text(out, "name", outcome->is_known ? outcome->name : NULL);
	put_text(out, "client", outcome->client);
	put_text(out, "principal", fw_principal_name(outcome->principal));
	fw_buf_json_key(out, "duration_ms");
	fw_buf_f64(out, (double)outcome->duration_ns / 1e6);
	if (outcome->error)
		put_error(out, outcome->error);
	FW_BUF(out, "}");
}

void fw_api_publish(struct fw_api *api, const fw_outcome *outcome)
{
	char id[24];
	fw_page_event event = { .name = "outcome", .id = id };
	struct fw_buf out;

	api->event_count++;
	if (!api->stream_count)
		return;
	fw_buf_init(&out, EVENT_BYTES);
	put_outcome(&out, outcome);
	(void)snprintf(id, sizeof id, "%" PRIu64, api->event_count);
	event.data = out.text;
	event.len = out.len;
	/* Backwards: a stream that ends leaves the list. */
	for (size_t i = api->stream_count; out.state == FW_BUF_OK && i-- > 0;)
		if (i < api->stream_count && !fw_page_send(api->streams[i], &event))
			fw_api_drop_stream(api->streams[i], api);
	fw_buf_clear(&out);
}
