/*
 * incident_read.c - incidents as JSON, and one of them by its id.
 */
#include "observe/incident/incident.h"
#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <faultwire/raise.h>

/* How many incidents are read to decide whether a prefix is unique. */
enum { SEARCH_MOST = 100 };

static void put_text(struct fw_buf *out, const char *key, const char *text)
{
	if (!text)
		return;
	fw_buf_json_key(out, key);
	fw_buf_json_str(out, text);
}

static void put_time(struct fw_buf *out, const char *key, int64_t unix_ms)
{
	char text[FW_TIME_SIZE];

	(void)fw_time_text(unix_ms, text);
	put_text(out, key, text);
}

static void put_number(struct fw_buf *out, const char *key, int64_t number)
{
	fw_buf_json_key(out, key);
	fw_buf_i64(out, number);
}

void fw_incident_put_json(struct fw_buf *out, const struct fw_incident *incident)
{
	FW_BUF(out, "{");
	put_text(out, "id", incident->id);
	put_time(out, "time", incident->time_ms);
	put_text(out, "code", incident->code);
	put_text(out, "severity", incident->severity);
	put_number(out, "status", incident->status);
	put_text(out, "tool", incident->tool);
	put_text(out, "operation", incident->operation);
	put_text(out, "client", incident->client);
	put_text(out, "session", incident->session);
	put_text(out, "peer", incident->peer);
	put_text(out, "trace_id", incident->trace);
	fw_buf_json_key(out, "duration_ms");
	fw_buf_f64(out, (double)incident->duration_us / 1000);
	put_text(out, "message", incident->message);
	if (incident->error) {
		fw_buf_json_key(out, "error");
		fw_buf_str(out, incident->error);
		put_text(out, "contract", incident->contract);
		put_text(out, "detail", incident->detail);
		fw_buf_json_key(out, "seen");
		FW_BUF(out, "{");
		put_number(out, "count", (int64_t)incident->count);
		put_time(out, "first", incident->first_ms);
		put_time(out, "last", incident->last_ms);
		FW_BUF(out, "}");
	}
	FW_BUF(out, "}");
}

static fw_error *check(const struct fw_buf *out)
{
	switch (out->state) {
	case FW_BUF_OK: return NULL;
	case FW_BUF_TOO_LARGE: return fw_raise_input_too_large("the list", out->max);
	case FW_BUF_NO_MEMORY: break;
	}
	return fw_raise_internal_out_of_memory();
}

fw_error *fw_incident_list(struct fw_store *store, const struct fw_incident_filter *filter,
			   fw_incident_fn *found, void *ctx)
{
	return fw_store_list_incidents(store, filter, found, ctx);
}

static void put_listed(void *ctx, const struct fw_incident *incident)
{
	struct fw_buf *out = ctx;

	if (out->len && out->text[out->len - 1] != '[')
		FW_BUF(out, ",");
	fw_incident_put_json(out, incident);
}

fw_error *fw_incident_list_json(struct fw_store *store, const struct fw_incident_filter *filter,
				struct fw_buf *out)
{
	FW_BUF(out, "[");
	FW_TRY(fw_store_list_incidents(store, filter, put_listed, out));
	FW_BUF(out, "]");
	return check(out);
}

/* First count the ids with this prefix, then pass on the incident. */
struct search {
	char id[128]; /* the first one */
	size_t ids;   /* different ones */
	bool is_done;
	bool is_out_of_memory;
	fw_incident_fn *found;
	void *ctx;
};

static void count(void *ctx, const struct fw_incident *incident)
{
	struct search *search = ctx;

	if (search->ids && strncmp(search->id, incident->id, sizeof search->id - 1) == 0)
		return;
	if (search->ids++ == 0)
		(void)snprintf(search->id, sizeof search->id, "%s", incident->id);
}

/* Takes the contract out of the stored error. Incidents of older versions have none. */
static void split_contract(char *error, struct fw_incident *incident)
{
	char *at = strstr(error, FW_INCIDENT_CONTRACT), *end;

	/* Members of its context may have the same name: the last one counts. */
	for (char *next = at; next; next = strstr(next + 1, FW_INCIDENT_CONTRACT))
		at = next;
	end = at ? strchr(at + sizeof FW_INCIDENT_CONTRACT - 1, '"') : NULL;
	if (!end || strcmp(end, "\"}") != 0)
		return;
	*end = '\0';
	incident->contract = at + sizeof FW_INCIDENT_CONTRACT - 1;
	memcpy(at, "}", 2);
	incident->error = error;
}

static void pass_first(void *ctx, const struct fw_incident *incident)
{
	struct search *search = ctx;
	struct fw_incident whole = *incident;
	char *error = NULL;

	if (search->is_done)
		return;
	search->is_done = true;
	if (incident->error) {
		error = fw_strdup(incident->error);
		search->is_out_of_memory = !error;
		if (!error)
			return;
		split_contract(error, &whole);
	}
	search->found(search->ctx, &whole);
	fw_free(error);
}

fw_error *fw_incident_get(struct fw_store *store, const char *id, fw_incident_fn *found,
			  void *ctx)
{
	struct search search = { .found = found, .ctx = ctx };

	if (!*id)
		return fw_raise_incident_not_found(id);
	/* cppcheck-suppress returnDanglingLifetime ; an error, not its ctx */
	FW_TRY(fw_store_find_incidents(store, id, SEARCH_MOST, count, &search));
	if (search.ids == 0)
		return fw_raise_incident_not_found(id);
	/* A complete id is unique even if a longer one begins with it. */
	if (search.ids > 1 && strcmp(search.id, id) != 0)
		return fw_raise_input_invalid_value("incident id",
						    "longer: several start like that");
	/* cppcheck-suppress returnDanglingLifetime ; an error, not its ctx */
	FW_TRY(fw_store_find_incidents(store, search.id, 1, pass_first, &search));
	return search.is_out_of_memory ? fw_raise_internal_out_of_memory() : NULL;
}

static void put_one(void *ctx, const struct fw_incident *incident)
{
	fw_incident_put_json(ctx, incident);
}

fw_error *fw_incident_get_json(struct fw_store *store, const char *id, struct fw_buf *out)
{
	FW_TRY(fw_incident_get(store, id, put_one, out));
	return check(out);
}
