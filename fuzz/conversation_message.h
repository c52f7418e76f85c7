/*
 * conversation_message.h - what the clients of fuzz_conversation.c say: JSON-RPC
 * messages, built from the bytes of a step.
 *
 *   a  the method          d  the tool, resource, prompt, level...
 *   b  the id              e  the arguments
 *   c  how a text is spoilt f  high half: which text; low half: parts of _meta
 */
#ifndef FW_CONVERSATION_MESSAGE_H
#define FW_CONVERSATION_MESSAGE_H

#include "conversation_peer.h"

enum { MESSAGE_BYTES = 3 << 20, HUGE_BYTES = 1 << 20 };

static char message[MESSAGE_BYTES];
static size_t message_len;
static unsigned huge_left; /* texts of 1 MB: at most one per input, for the sake of speed */

static void put_n(const char *text, size_t len)
{
	MUST(message_len + len < MESSAGE_BYTES);
	memcpy(message + message_len, text, len);
	message_len += len;
}

static void put(const char *text)
{
	put_n(text, strlen(text));
}

static void put_number(uint64_t number)
{
	char text[24];

	(void)snprintf(text, sizeof text, "%llu", (unsigned long long)number);
	put(text);
}

static void put_filler(size_t len)
{
	MUST(message_len + len < MESSAGE_BYTES);
	memset(message + message_len, 'x', len);
	message_len += len;
}

/* As a JSON string, spoilt. */
static void put_spoilt(const char *text, uint8_t how)
{
	put("\"");
	if (how % 16 == 11) {
		put("\""); /* empty */
		return;
	}
	put_n(text, strlen(text) - (how % 16 == 15 && text[0]));
	switch (how % 16) {
	case 8: put("\\u0000"); break;
	case 9: put("\\u0000xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"); break;
	case 10: put_filler(300); break;
	case 12: put("\\u00e9\\u2028"); break;
	case 13: put("\\n\\\"\\u001b"); break;
	case 14:
		put("\\u0000");
		put_filler(huge_left ? HUGE_BYTES : 64);
		huge_left = 0;
		break;
	default: break;
	}
	put("\"");
}

enum target { AT_NOWHERE, AT_METHOD, AT_NAME, AT_VALUE, AT_KEY, AT_META, AT_ID, AT_EXTRA };

static void put_text_at(const struct step *step, enum target at, const char *text)
{
	put_spoilt(text, (step->f >> 4) % 8 == at ? step->c : 0);
}

static void put_id(const struct step *step, unsigned shift)
{
	static const char *const odd[] = { "1.5",  "null", "99999999999999999999",
					   "true", "[]",   "-1",
					   "1e3",  "\"a\"" };

	if (step->b < 224) {
		put_number((uint64_t)step->b % 32 + shift);
	} else if (step->b < 240) {
		put_text_at(step, AT_ID, "text");
	} else {
		put(odd[step->b % 8]);
	}
}

/* ---- params ------------------------------------------------------------------------------- */

static const char *const methods[] = {
	"tools/call",
	"tools/call",
	"tools/call",
	"tools/call",
	"tools/call",
	"tools/list",
	"ping",
	"initialize",
	"resources/list",
	"resources/templates/list",
	"resources/read",
	"resources/subscribe",
	"resources/unsubscribe",
	"prompts/list",
	"prompts/get",
	"completion/complete",
	"logging/setLevel",
	"server/discover",
	"subscriptions/listen",
	"no/such",
};
enum { METHODS = sizeof methods / sizeof *methods };

static const char *const tools[] = { "echo", "fail", "later", "ask",    "work", "drop",
				     "big",  "keep", "sleep", "mirror", "none" };
enum { TOOLS = sizeof tools / sizeof *tools };

static const char *const uris[] = { "test://fixed", "test://item/7", "test://no" };
static const char *const capabilities[] = {
	"{\"elicitation\":{},\"roots\":{}}",
	"{\"elicitation\":{}}",
	"{}",
	"{\"experimental\":{\"dev.faultwire/contract\":\"kaiza\"},\"elicitation\":{}}",
};

static const char *method_of(const struct step *step)
{
	return methods[step->a % METHODS];
}

static const char *name_of(const struct step *step)
{
	const char *method = method_of(step);

	if (strcmp(method, "tools/call") == 0)
		return tools[step->d % TOOLS];
	if (strncmp(method, "resources/", 10) == 0)
		return uris[step->d % 3];
	return "topic";
}

static void put_meta(const struct step *step, bool is_modern)
{
	put("\"_meta\":{");
	if (is_modern) {
		put("\"io.modelcontextprotocol/protocolVersion\":");
		put_text_at(step, AT_META, "2026-07-28");
		put(",\"io.modelcontextprotocol/clientCapabilities\":");
		put(capabilities[step->e >> 6]);
		put(",\"io.modelcontextprotocol/clientInfo\":{\"name\":");
		put_text_at(step, AT_EXTRA, "fuzz");
		put(",\"version\":\"1\"},");
		if (step->f & 2)
			put("\"io.modelcontextprotocol/logLevel\":\"debug\",");
	}
	if (step->f & 8)
		put("\"dev.faultwire/contract\":\"codeintel\",");
	if (step->f & 1)
		put("\"progressToken\":\"p\",");
	put("\"x\":0}");
}

static void put_arguments(const struct step *step)
{
	put(",\"arguments\":{");
	put_text_at(step, AT_KEY, step->e & 1 ? "text" : "topic");
	put(":");
	if (step->e & 2)
		put("{}");
	else
		put_text_at(step, AT_VALUE, "hi");
	if (step->e & 4)
		put(",\"value\":{\"sum\":1}");
	put(",\"n\":");
	put_number(step->e >> 2);
	put("}");
}

static void put_responses(const struct step *step, const struct client *client)
{
	put(",\"requestState\":\"");
	put(client->request_state);
	if (step->c & 1)
		put("x");
	put("\",\"inputResponses\":{");
	put_text_at(step, AT_KEY, "name");
	put(":{\"action\":\"accept\",\"content\":{\"name\":");
	put_text_at(step, AT_VALUE, "Ada");
	put("}},\"roots\":{\"roots\":[]}}");
}

static void put_initialize(const struct step *step, enum fw_version version)
{
	put("\"protocolVersion\":");
	put_text_at(step, AT_NAME, step->d < 200 ? fw_version_names[version] : "1999-01-01");
	put(",\"capabilities\":");
	put(capabilities[step->e >> 6]);
	put(",\"clientInfo\":{\"name\":");
	put_text_at(step, AT_VALUE, "fuzz");
	put(",\"version\":");
	put_text_at(step, AT_KEY, "1");
	put("},");
}

static void put_params(const struct step *step, const struct client *client)
{
	const char *method = method_of(step);
	bool is_modern = (client->version == FW_V_2026_07_28) != ((step->f & 4) != 0);

	put(",\"params\":{");
	if (strcmp(method, "initialize") == 0)
		put_initialize(step, client->version);
	put_meta(step, is_modern);
	if (strcmp(method, "resources/read") == 0 ||
	    strcmp(method, "resources/subscribe") == 0 ||
	    strcmp(method, "resources/unsubscribe") == 0) {
		put(",\"uri\":");
		put_text_at(step, AT_NAME, name_of(step));
	} else if (strcmp(method, "tools/call") == 0 || strcmp(method, "prompts/get") == 0) {
		put(",\"name\":");
		put_text_at(step, AT_NAME, name_of(step));
		put_arguments(step);
		if (is_modern && step->e & 8)
			put_responses(step, client);
	} else if (strcmp(method, "completion/complete") == 0) {
		put(step->e & 1 ? ",\"ref\":{\"type\":\"ref/prompt\",\"name\":"
				: ",\"ref\":{\"type\":\"ref/resource\",\"uri\":");
		put_text_at(step, AT_NAME, step->e & 1 ? "topic" : "test://item/{id}");
		put("},\"argument\":{\"name\":");
		put_text_at(step, AT_KEY, step->e & 1 ? "topic" : "id");
		put(",\"value\":");
		put_text_at(step, AT_VALUE, "a");
		put("}");
	} else if (strcmp(method, "logging/setLevel") == 0) {
		put(",\"level\":");
		put_text_at(step, AT_NAME, "debug");
	} else if (strcmp(method, "subscriptions/listen") == 0) {
		put(",\"notifications\":{\"toolsListChanged\":true,"
		    "\"resourcesListChanged\":true,\"resourceSubscriptions\":[");
		put_text_at(step, AT_NAME, uris[step->d % 3]);
		put("]}");
	} else if (step->e & 1) {
		put(",\"cursor\":");
		put_text_at(step, AT_NAME, "Mw");
	}
	put("}");
}

/* ---- messages ------------------------------------------------------------------------------- */

static void put_request(const struct step *step, const struct client *client, unsigned shift)
{
	put("{\"jsonrpc\":\"2.0\",\"id\":");
	put_id(step, shift);
	put(",\"method\":");
	put_text_at(step, AT_METHOD, method_of(step));
	put_params(step, client);
	put("}");
}

static void put_notification(const struct step *step, const struct client *client)
{
	static const char *const names[] = { "notifications/cancelled",
					     "notifications/cancelled",
					     "notifications/initialized",
					     "notifications/roots/list_changed" };

	put("{\"jsonrpc\":\"2.0\",\"method\":");
	put_text_at(step, AT_METHOD, names[step->a % 4]);
	put(",\"params\":{\"requestId\":");
	put_id(step, 0);
	put(",");
	put_meta(step, client->version == FW_V_2026_07_28);
	put("}}");
}

/* An answer to a question of the server's. */
static void put_response(const struct step *step, struct client *client)
{
	size_t index = client->asked_count ? step->a % client->asked_count : 0;
	uint64_t id = client->asked_count ? client->asked[index] : step->b;

	if (client->asked_count && step->b % 4)
		client->asked[index] = client->asked[--client->asked_count];
	put("{\"jsonrpc\":\"2.0\",\"id\":");
	put_number(id);
	if (step->d & 1) {
		put(",\"error\":{\"code\":-1,\"message\":");
		put_text_at(step, AT_VALUE, "no");
		put("}}");
		return;
	}
	put(",\"result\":{\"action\":\"accept\",\"content\":{\"name\":");
	put_text_at(step, AT_VALUE, "Ada");
	put("},\"roots\":[]}}");
}

#endif
