/*
 * results.c - tools that return each kind of content, fail, report progress and log, take
 * their time, or announce changes.
 */
#include "everything.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* A WAV file with one sample, in base64. */
#define WAV "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="

static void sleep_ms(long ms)
{
	struct timespec left = { ms / 1000, ms % 1000 * 1000000 };

	(void)nanosleep(&left, NULL);
}

/* ---- content -------------------------------------------------------------- */

fw_error *tool_simple_text(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_text(call, "This is a simple text response for testing.");
	return NULL;
}

fw_error *tool_image(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_image(call, PNG, "image/png");
	return NULL;
}

fw_error *tool_audio(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_audio(call, WAV, "audio/wav");
	return NULL;
}

fw_error *tool_embedded(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_resource_text(call, "test://embedded-resource", "text/plain",
			      "This is an embedded resource content.");
	return NULL;
}

fw_error *tool_mixed(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_text(call, "Multiple content types test:");
	fw_call_image(call, PNG, "image/png");
	fw_call_resource_text(call, "test://mixed-content-resource", "application/json",
			      "{\"test\":\"data\",\"value\":123}");
	return NULL;
}

fw_error *tool_echo(fw_call *call, void *ctx)
{
	size_t len;
	const char *text = fw_call_string(call, "text", &len);

	(void)ctx;
	fw_call_text_n(call, text, len);
	return NULL;
}

fw_error *tool_echo_json(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_textf(call, "JSON Schema 2020-12 tool called with: %s",
		      fw_call_json(call, NULL, NULL));
	return NULL;
}

fw_error *tool_region(fw_call *call, void *ctx)
{
	const char *name = fw_call_string(call, "region", NULL);

	(void)ctx;
	fw_call_textf(call, "region=%s", name ? name : "<none>");
	return NULL;
}

/* The sum of two integers, as structured content. With `wrong` it breaks the output schema. */
fw_error *tool_add(fw_call *call, void *ctx)
{
	long long sum = (long long)(fw_call_i64(call, "a", 0) + fw_call_i64(call, "b", 0));
	char json[64];
	int len = snprintf(json, sizeof json,
			   fw_call_bool(call, "wrong", false) ? "{\"sum\":\"%lld\"}"
							      : "{\"sum\":%lld}",
			   sum);

	(void)ctx;
	fw_call_structured(call, json, (size_t)len);
	return NULL;
}

/* ---- failures --------------------------------------------------------------- */

fw_error *tool_failing(fw_call *call, void *ctx)
{
	const char *text = fw_call_string(call, "text", NULL);

	(void)ctx;
	return fw_raise_tool_failed(
		text ? text : "This tool intentionally returns an error for testing");
}

fw_error *tool_silent(fw_call *call, void *ctx)
{
	(void)call;
	(void)ctx;
	return NULL;
}

/* ---- while a call runs ---------------------------------------------------------------- */

fw_error *tool_logging(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_log(call, FW_LOG_INFO, NULL, "Tool execution started");
	sleep_ms(50);
	fw_call_log(call, FW_LOG_INFO, NULL, "Tool processing data");
	sleep_ms(50);
	fw_call_log(call, FW_LOG_INFO, NULL, "Tool execution completed");
	fw_call_text(call, "Tool with logging executed successfully");
	return NULL;
}

fw_error *tool_log_once(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_log(call, FW_LOG_INFO, "everything", "test_logging_tool was called");
	fw_call_text(call, "logged once, if you asked for it");
	return NULL;
}

fw_error *tool_progress(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_progress(call, 0, 100, NULL);
	sleep_ms(50);
	fw_call_progress(call, 50, 100, NULL);
	sleep_ms(50);
	fw_call_progress(call, 100, 100, NULL);
	fw_call_text(call, "Tool with progress executed successfully");
	return NULL;
}

/* Sends as fast as it can. It is the server that has to limit this. */
fw_error *tool_chatter(fw_call *call, void *ctx)
{
	int64_t count = fw_call_i64(call, "count", 100);
	char text[201];

	(void)ctx;
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	for (int64_t i = 1; i <= count && !fw_call_is_cancelled(call); i++) {
		fw_call_progress(call, (double)i, (double)count, NULL);
		fw_call_log(call, FW_LOG_INFO, "chatter", text);
	}
	fw_call_textf(call, "said it %lld times", (long long)count);
	return NULL;
}

fw_error *tool_reconnection(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_close_stream(call, 500);
	sleep_ms(100);
	fw_call_text(call,
		     "Reconnection test completed successfully. If you received this, the "
		     "client properly reconnected after stream closure.");
	return NULL;
}

/* Sleeps for `ms` on a thread. Unless `deaf` is set, it ends early if the call is cancelled. */
fw_error *tool_slow(fw_call *call, void *ctx)
{
	long left = (long)fw_call_i64(call, "ms", 0);
	bool is_deaf = fw_call_bool(call, "deaf", false);

	(void)ctx;
	for (; left > 0 && (is_deaf || !fw_call_is_cancelled(call)); left -= 10)
		sleep_ms(left < 10 ? left : 10);
	fw_call_text(call, "slept");
	return NULL;
}

static void wake(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_text(call, "later");
	fw_call_finish(call, NULL);
}

fw_error *tool_later(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_after(call, (uint32_t)fw_call_i64(call, "ms", 0), wake, NULL);
	return NULL;
}

fw_error *tool_tools_changed(fw_call *call, void *ctx)
{
	fw_server_tools_changed(ctx);
	fw_call_text(call, "tools_list_changed published");
	return NULL;
}

fw_error *tool_prompts_changed(fw_call *call, void *ctx)
{
	fw_server_prompts_changed(ctx);
	fw_call_text(call, "prompts_list_changed published");
	return NULL;
}

fw_error *tool_streaming(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_text(call, "stream observed: result frames only, no top-level requests");
	return NULL;
}
