/*
 * api.c - the routes of the HTTP API, and what all of them check.
 *
 * The version is a parameter of every path, so that a version that does not exist is
 * refused as such, with those that do, and not as a path that does not exist.
 */
#include "api/api.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <faultwire/raise.h>

#include "api/api_impl.h"
#include "api/api_recent.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/mem.h"
#include "mcp/authority.h"
#include "mcp/page.h"
#include "observe/alert/alerting.h"
#include "store/store_queue.h"

/* ---- versions ------------------------------------------------------ */

static fw_error *unsupported(const struct fw_api *api, fw_page *page, const char *requested)
{
	static const char supported[] = "[\"" FW_API_VERSION "\"]";
	fw_error *err = fw_raise_protocol_unsupported_version(supported, requested);

	if (api->upgrade_required) {
		fw_error_set_status(err, 426);
		fw_page_set_header(page, "Upgrade", "owlclaw-api/" FW_API_VERSION);
	}
	return err;
}

/* "v1" and "1" are the same. */
static const char *bare(const char *version)
{
	return version && version[0] == 'v' ? version + 1 : version;
}

static fw_error *check_version(const struct fw_api *api, fw_page *page)
{
	const char *in_path = bare(fw_page_parameter(page, "version"));
	const char *in_header = bare(fw_page_header(page, FW_API_VERSION_HEADER));

	if (in_path && in_header && strcmp(in_path, in_header) != 0)
		return fw_raise_protocol_version_conflict(in_path, in_header);
	if (!in_path)
		in_path = in_header;
	if (in_path && strcmp(in_path, FW_API_VERSION) != 0)
		return unsupported(api, page, in_path);
	return NULL;
}

fw_error *fw_api_enter(const struct fw_api *api, fw_page *page)
{
	fw_page_set_header(page, FW_API_VERSION_HEADER, FW_API_VERSION);
	FW_TRY(fw_page_check_contract(page));
	return check_version(api, page);
}

fw_error *fw_api_check_type(const fw_page *page)
{
	static const char json[] = "application/json";
	const char *type = fw_page_header(page, "Content-Type");
	const char *end = type ? type + strcspn(type, "; \t") : NULL;

	if (type && (size_t)(end - type) == sizeof json - 1 &&
	    strncasecmp(type, json, sizeof json - 1) == 0)
		return NULL;
	return fw_raise_protocol_unsupported_media_type(type ? type : "nothing");
}

fw_error *fw_api_answer(fw_page *page, struct fw_buf *out)
{
	enum fw_buf_state state = out->state;

	if (state == FW_BUF_OK) {
		fw_page_status(page, 200, "application/json");
		fw_page_write(page, out->text, out->len);
	}
	fw_buf_clear(out);
	if (state == FW_BUF_TOO_LARGE)
		return fw_raise_tool_result_too_large(FW_API_LIST_BYTES);
	return state == FW_BUF_OK ? NULL : fw_raise_internal_out_of_memory();
}

/* ---- routes ------------------------------------------------------------------------ */

static fw_error *show_alerts(fw_page *page, void *ctx)
{
	struct fw_api *api = ctx;

	FW_TRY(fw_api_enter(api, page));
	if (!api->alerting)
		return fw_raise_protocol_path_not_found(fw_page_path(page));
	return fw_alerting_page(page, api->alerting);
}

fw_error *fw_api_show_overview(fw_page *page, void *ctx)
{
	struct fw_api *api = ctx;
	struct fw_buf out;

	FW_TRY(fw_api_enter(api, page));
	if (!api->recent)
		api->recent = fw_api_recent_new(api->started_ms);
	if (!api->recent)
		return fw_raise_internal_out_of_memory();
	fw_buf_init(&out, FW_API_LIST_BYTES);
	FW_BUF(&out, "{");
	fw_api_recent_put(api->recent, fw_unix_ms(), &out);
	FW_BUF(&out, ",\"upstreams\":");
	if (api->put_upstreams)
		api->put_upstreams(api->upstreams, &out);
	else
		FW_BUF(&out, "[]");
	FW_BUF(&out, ",\"fleet\":");
	if (api->put_fleet)
		api->put_fleet(api->fleet, &out);
	else
		FW_BUF(&out, "null");
	FW_BUF(&out, "}");
	return fw_api_answer(page, &out);
}

/* Any other path below /api/: the version or the path is wrong. */
static fw_error *find_nothing(fw_page *page, void *ctx)
{
	static const char prefix[] = "/api/v" FW_API_VERSION;
	const struct fw_api *api = ctx;
	const char *version = fw_page_path(page) + sizeof "/api/" - 1;
	char name[32];

	FW_TRY(fw_api_enter(api, page));
	if (strncmp(fw_page_path(page), prefix, sizeof prefix - 1) == 0 &&
	    strchr("/", fw_page_path(page)[sizeof prefix - 1]))
		return fw_raise_protocol_path_not_found(fw_page_path(page));
	(void)snprintf(name, sizeof name, "%.*s", (int)strcspn(version, "/"), version);
	return unsupported(api, page, bare(name));
}

enum {
	BODY = 1,   /* takes one */
	COOKIE = 2, /* changes nothing: see fw_route.takes_cookie */
};

static const struct {
	const char *path;
	unsigned methods;
	unsigned takes;
	fw_page_fn *handle;
} routes[] = {
	{ "/api/{version}/tools", FW_ROUTE_GET, 0, fw_api_list_tools },
	{ "/api/{version}/tools/{name}", FW_ROUTE_GET, 0, fw_api_show_tool },
	{ "/api/{version}/tools/{name}", FW_ROUTE_POST, BODY, fw_api_call_tool },
	{ "/api/{version}/registry", FW_ROUTE_GET, 0, fw_api_list_codes },
	{ "/api/{version}/registry/{code}", FW_ROUTE_GET, 0, fw_api_show_code },
	{ "/api/{version}/explain", FW_ROUTE_GET, 0, fw_api_explain },
	{ "/api/{version}/convert", FW_ROUTE_POST, BODY | COOKIE, fw_api_convert },
	{ "/api/{version}/incidents", FW_ROUTE_GET, 0, fw_api_list_incidents },
	{ "/api/{version}/incidents/{id}", FW_ROUTE_GET, 0, fw_api_show_incident },
	{ "/api/{version}/alerts", FW_ROUTE_GET, 0, show_alerts },
	{ "/api/{version}/events", FW_ROUTE_GET, 0, fw_api_stream_events },
	{ "/api/{version}/inspect", FW_ROUTE_POST, BODY | COOKIE, fw_api_inspect },
	{ "/api/{version}/overview", FW_ROUTE_GET, 0, fw_api_show_overview },
	{ "/api/",
	  FW_ROUTE_GET | FW_ROUTE_POST | FW_ROUTE_PUT | FW_ROUTE_PATCH | FW_ROUTE_DELETE, 0,
	  find_nothing },
	{ "/openapi.json", FW_ROUTE_GET, 0, fw_api_show_openapi },
	{ "/ui/session", FW_ROUTE_POST, 0, fw_api_sign_in },
	{ "/ui/session", FW_ROUTE_DELETE, COOKIE, fw_api_sign_out },
};

static fw_error *add_routes(struct fw_api *api)
{
	for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
		const fw_route route = {
			.struct_size = sizeof route,
			.path = routes[i].path,
			.methods = routes[i].methods,
			.body_bytes = routes[i].takes & BODY ? UINT64_MAX : 0,
			.handle = routes[i].handle,
			.gone = routes[i].handle == fw_api_stream_events ? fw_api_drop_stream
									 : NULL,
			.ctx = api,
			.takes_cookie = routes[i].takes & COOKIE,
		};

		FW_TRY(fw_server_add_route(api->server, &route));
	}
	return NULL;
}

/* ---- life ---------------------------------------------------------------------------- */

static void finished(void *ctx, const fw_outcome *outcome)
{
	struct fw_api *api = ctx;

	fw_api_publish(api, outcome);
	if (!api->recent)
		api->recent = fw_api_recent_new(api->started_ms);
	if (api->recent)
		fw_api_recent_note(api->recent, outcome,
				   outcome->call ? fw_authority_toolset(outcome->call) : NULL,
				   fw_unix_ms());
}

static bool replying(void *ctx, const fw_outcome *outcome, fw_hold *hold)
{
	return fw_api_keep_answer(ctx, outcome, hold);
}

static bool copy(char **ret_copy, const char *text)
{
	*ret_copy = text ? fw_strdup(text) : NULL;
	return !text || *ret_copy;
}

fw_error *fw_api_new(fw_server *server, const struct fw_api_options *options,
		     struct fw_api **ret_api)
{
	struct fw_api *api = fw__allocate(sizeof *api);
	fw_observer observer = FW_OBSERVER_INIT;
	fw_error *err = NULL;

	if (!api)
		return fw_raise_internal_out_of_memory();
	memset(api, 0, sizeof *api);
	api->server = server;
	api->loop = options->loop;
	api->started_ms = fw_unix_ms();
	api->upgrade_required = options->upgrade_required;
	fw_random_hex(api->instance, sizeof api->instance);
	observer.replying = replying;
	observer.finished = finished;
	observer.ctx = api;
	if (!copy(&api->incident_file, options->incident_file) ||
	    !copy(&api->store_file, options->store_file))
		err = fw_raise_internal_out_of_memory();
	if (!err)
		err = add_routes(api);
	if (!err)
		err = fw_server__add_files(server, "/ui/", true, fw_api_dashboard);
	if (!err)
		err = fw_server__add_files(server, "/docs/", true, fw_api_docs);
	fw_server__set_root(server, fw_api_dashboard);
	if (!err)
		err = fw_server_add_observer(server, &observer);
	/* The routes that were added keep it: it is freed after the server. */
	*ret_api = api;
	return err;
}

void fw_api_set_alerting(struct fw_api *api, struct fw_alerting *alerting)
{
	api->alerting = alerting;
}

void fw_api_set_upstreams(struct fw_api *api, fw_api_put_fn *put, void *ctx)
{
	api->put_upstreams = put;
	api->upstreams = ctx;
}

void fw_api_set_fleet(struct fw_api *api, fw_api_put_fn *put, void *ctx)
{
	api->put_fleet = put;
	api->fleet = ctx;
}

void fw_api_close(struct fw_api *api)
{
	if (!api)
		return;
	fw_store_queue_free(api->readers);
	fw_store_queue_free(api->keys);
	api->readers = NULL;
	api->keys = NULL;
}

void fw_api_free(struct fw_api *api)
{
	if (!api)
		return;
	fw_api_recent_free(api->recent);
	fw__release(api->incident_file);
	fw__release(api->store_file);
	fw__release(api);
}
