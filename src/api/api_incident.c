/*
 * api_incident.c - incidents by HTTP. They are read from the store on a thread, which
 * opens it for each request: the store may be replaced while the server runs.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <faultwire/raise.h>

#include "api/api_impl.h"
#include "base/decimal.h"
#include "base/mem.h"
#include "observe/incident/incident.h"
#include "store/store_queue.h"

enum { DEFAULT_COUNT = 50, MOST_COUNT = 1000, TEXT_BYTES = 256 };

struct lookup {
	struct fw_store_call call; /* must be first */
	const struct fw_api *api;
	fw_page *page;
	bool is_list;
	char id[TEXT_BYTES];
	char code[TEXT_BYTES];
	char tool[TEXT_BYTES];
	size_t limit;
	struct fw_buf out;
};

static fw_error *read_store(struct lookup *lookup, struct fw_store *store)
{
	const struct fw_incident_filter filter = {
		.code = lookup->code[0] ? lookup->code : NULL,
		.tool = lookup->tool[0] ? lookup->tool : NULL,
		.limit = lookup->limit,
	};

	if (!lookup->is_list)
		return fw_incident_get_json(store, lookup->id, &lookup->out);
	FW_BUF(&lookup->out, "{\"incidents\":");
	FW_TRY(fw_incident_list_json(store, &filter, &lookup->out));
	FW_BUF(&lookup->out, ",\"stored\":true}");
	return NULL;
}

/* On the thread. `unused` is of the queue, which needs one. */
static fw_error *work(struct fw_store_call *call, struct fw_store *unused)
{
	static const struct fw_store_options reader = { .is_reader = true };
	struct lookup *lookup = (struct lookup *)(void *)call;
	struct fw_store *store = NULL;
	fw_error *err;

	(void)unused;
	/* The first incident creates it. */
	if (!fw_store_is_shared(lookup->api->incident_file) &&
	    access(lookup->api->incident_file, F_OK) != 0) {
		FW_BUF(&lookup->out, "{\"incidents\":[],\"stored\":true}");
		return lookup->is_list ? NULL : fw_raise_incident_not_found(lookup->id);
	}
	err = fw_store_open(lookup->api->incident_file, &reader, &store);
	if (!err)
		err = read_store(lookup, store);
	fw_store_free(store);
	return err;
}

static void done(struct fw_store_call *call, fw_error *err, bool is_over)
{
	struct lookup *lookup = (struct lookup *)(void *)call;

	(void)is_over;
	if (!err)
		err = fw_api_answer(lookup->page, &lookup->out);
	fw_buf_clear(&lookup->out);
	fw_page_finish(lookup->page, err);
	fw__release(lookup);
}

static fw_error *start_thread(struct fw_api *api)
{
	struct fw_store *store;

	if (api->readers)
		return NULL;
	FW_TRY(fw_store_open(api->incident_file, NULL, &store));
	return fw_store_queue_new(store, api->loop, &api->readers);
}

/* Consumes `lookup`. */
static fw_error *submit(struct fw_api *api, struct lookup *lookup)
{
	fw_error *err = start_thread(api);

	if (!err)
		err = fw_page_keep(lookup->page);
	if (err) {
		fw__release(lookup);
		return err;
	}
	err = fw_store_queue_submit(api->readers, &lookup->call);
	if (err) {
		fw_page_finish(lookup->page, err);
		fw__release(lookup);
	}
	return NULL;
}

static fw_error *lookup_new(const struct fw_api *api, fw_page *page, struct lookup **ret_lookup)
{
	struct lookup *lookup;

	lookup = fw__allocate(sizeof *lookup);
	if (!lookup)
		return fw_raise_internal_out_of_memory();
	memset(lookup, 0, sizeof *lookup);
	lookup->call.work = work;
	lookup->call.done = done;
	lookup->api = api;
	lookup->page = page;
	fw_buf_init(&lookup->out, FW_API_LIST_BYTES);
	*ret_lookup = lookup;
	return NULL;
}

/* The list of a server that stores no incidents (--incidents off). */
static fw_error *answer_none(fw_page *page)
{
	struct fw_buf out;
	fw_error *err;

	fw_buf_init(&out, FW_API_LIST_BYTES);
	FW_BUF(&out, "{\"incidents\":[],\"stored\":false}");
	err = fw_api_answer(page, &out);
	fw_buf_clear(&out);
	return err;
}

static fw_error *copy_query(const fw_page *page, const char *name, char *to)
{
	const char *value = fw_page_query(page, name);

	if (value && strlen(value) >= TEXT_BYTES)
		return fw_raise_input_too_large(name, TEXT_BYTES - 1);
	(void)snprintf(to, TEXT_BYTES, "%s", value ? value : "");
	return NULL;
}

static fw_error *read_limit(const fw_page *page, size_t *ret_limit)
{
	const char *text = fw_page_query(page, "limit");
	uint64_t number = DEFAULT_COUNT;

	if (text && !fw_decimal_read(text, 1, MOST_COUNT, &number))
		return fw_raise_input_invalid_value("limit", "a number from 1 to 1000");
	*ret_limit = number;
	return NULL;
}

fw_error *fw_api_list_incidents(fw_page *page, void *ctx)
{
	struct fw_api *api = ctx;
	struct lookup *lookup;
	fw_error *err;

	FW_TRY(fw_api_enter(api, page));
	if (!api->incident_file)
		return answer_none(page);
	FW_TRY(lookup_new(api, page, &lookup));
	lookup->is_list = true;
	err = copy_query(page, "code", lookup->code);
	if (!err)
		err = copy_query(page, "tool", lookup->tool);
	if (!err)
		err = read_limit(page, &lookup->limit);
	if (err) {
		fw__release(lookup);
		return err;
	}
	return submit(api, lookup);
}

fw_error *fw_api_show_incident(fw_page *page, void *ctx)
{
	const char *id = fw_page_parameter(page, "id");
	struct fw_api *api = ctx;
	struct lookup *lookup;

	FW_TRY(fw_api_enter(api, page));
	if (!api->incident_file || strlen(id) >= TEXT_BYTES)
		return fw_raise_incident_not_found(id);
	FW_TRY(lookup_new(api, page, &lookup));
	(void)snprintf(lookup->id, sizeof lookup->id, "%s", id);
	return submit(api, lookup);
}
