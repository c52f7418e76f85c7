/*
 * api_impl.h - what the files of the API share.
 */
#ifndef FW_API_API_IMPL_H
#define FW_API_API_IMPL_H

#include <stddef.h>

#include <faultwire/observer.h>
#include <faultwire/page.h>
#include <faultwire/registry.h>

#include "api/api.h"
#include "base/buf.h"
#include "mcp/page.h"

struct fw_api_once;
struct fw_api_recent;
struct fw_store_queue;

#define FW_API_VERSION "1"
#define FW_API_VERSION_HEADER "X-OwlClaw-Api-Version"
#define FW_API_PREFIX "/api/v" FW_API_VERSION "/"

/* The most that one answer may have. */
enum { FW_API_LIST_BYTES = 8 * 1024 * 1024, FW_API_STREAMS = 1024, FW_API_INSTANCE_SIZE = 17 };

struct fw_api {
	fw_server *server;
	struct fw_loop *loop;
	struct fw_alerting *alerting;
	fw_api_put_fn *put_upstreams; /* NULL: there are none */
	void *upstreams;              /* its ctx */
	fw_api_put_fn *put_fleet;     /* NULL: there is none */
	void *fleet;                  /* its ctx */
	int64_t started_ms;
	bool upgrade_required;
	char *incident_file;
	char *store_file;
	struct fw_store_queue *readers; /* NULL: not needed yet */
	struct fw_store_queue *keys;    /* likewise */
	fw_page *streams[FW_API_STREAMS];
	size_t stream_count;
	uint64_t event_count;
	struct fw_api_recent *recent;        /* NULL: no request yet */
	struct fw_api_once *onces;           /* requests with a key that are in progress */
	char instance[FW_API_INSTANCE_SIZE]; /* of this server, in rows of the store */
};

/* To be called first by every handler: checks the version and the contract that the
 * client asks for. Raises protocol.version_conflict, protocol.unsupported_version,
 * input.invalid_value. */
FW_NODISCARD fw_error *fw_api_enter(const struct fw_api *api, fw_page *page);
/* Answers with JSON, or with the failure of the buffer, which is cleared. */
FW_NODISCARD fw_error *fw_api_answer(fw_page *page, struct fw_buf *out);
/* Raises protocol.unsupported_media_type unless the body is JSON. */
FW_NODISCARD fw_error *fw_api_check_type(const fw_page *page);

/* The handlers; `ctx` is the API. */
fw_page_fn fw_api_list_tools, fw_api_show_tool, fw_api_call_tool;
fw_page_fn fw_api_list_codes, fw_api_show_code, fw_api_explain, fw_api_convert;
fw_page_fn fw_api_list_incidents, fw_api_show_incident;
fw_page_fn fw_api_stream_events, fw_api_show_openapi;
fw_page_fn fw_api_inspect, fw_api_show_overview;
fw_page_fn fw_api_sign_in, fw_api_sign_out;

/* Reads an error; text in no contract is classified. `*ret_found` is its contract. Raises
 * what fw_error_decode() raises. */
FW_NODISCARD fw_error *fw_api_read_error(const char *text, size_t len, fw_contract from,
					 fw_contract *ret_found, fw_error **ret_error);

/* api_once.c: a call with an Idempotency-Key, and what keeps its answer before it is
 * sent. True: the reply is held. */
FW_NODISCARD fw_error *fw_api_call_once(struct fw_api *api, fw_page *page);
bool fw_api_keep_answer(struct fw_api *api, const fw_outcome *outcome, fw_hold *hold);

/* The files of web/; they show nothing that the API does not, so anybody may read them. */
extern const struct fw_page_file fw_api_dashboard[];
/* The pages of docs/, as HTML (tools/docs-html). */
extern const struct fw_page_file fw_api_docs[];

/* api_event.c */
void fw_api_publish(struct fw_api *api, const fw_outcome *outcome);
/* `ctx` is the API. */
void fw_api_drop_stream(fw_page *page, void *ctx);

#endif
