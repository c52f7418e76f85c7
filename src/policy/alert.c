/*
 * alert.c - see alert.h.
 *
 * "More than five within the window" depends only on the newest six events: it is
 * true while the oldest of them is in the window. So an alert keeps six times,
 * however many events there are, and the time at which it will end is known in
 * advance.
 */
#include "policy/alert.h"

#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"

enum { NEEDED = FW_ALERT_WARNINGS + 1 };

struct entry {
	struct entry *next;
	struct fw_alert alert;
	int64_t times[NEEDED]; /* ring buffer */
	unsigned count;
	unsigned oldest;
};

struct client {
	char name[FW_LIMIT_ALERT_CLIENT_BYTES + 1];
	uint64_t hash;
	int64_t last_ms;
	struct entry *entries;
};

struct fw_alerts {
	fw_alert_fn *changed;
	void *ctx;
	int64_t next_ms;
	size_t firing;
	size_t client_count;
	/* The last one is "other", for clients beyond the limit. */
	struct client clients[FW_LIMIT_ALERT_CLIENTS + 1];
};

fw_error *fw_alerts_new(fw_alert_fn *changed, void *ctx, struct fw_alerts **ret_alerts)
{
	struct fw_alerts *alerts = fw__allocate(sizeof *alerts);

	if (!alerts)
		return fw_raise_internal_out_of_memory();
	memset(alerts, 0, sizeof *alerts);
	alerts->changed = changed;
	alerts->ctx = ctx;
	alerts->next_ms = INT64_MAX;
	(void)snprintf(alerts->clients[FW_LIMIT_ALERT_CLIENTS].name,
		       sizeof alerts->clients[0].name, "other");
	*ret_alerts = alerts;
	return NULL;
}

static void forget(struct client *client)
{
	while (client->entries) {
		struct entry *next = client->entries->next;

		fw__release(client->entries);
		client->entries = next;
	}
}

void fw_alerts_free(struct fw_alerts *alerts)
{
	if (!alerts)
		return;
	for (size_t i = 0; i <= FW_LIMIT_ALERT_CLIENTS; i++)
		forget(&alerts->clients[i]);
	fw__release(alerts);
}

/* ---- clients ---- */

static size_t name_length(const char *name)
{
	size_t len = strnlen(name, FW_LIMIT_ALERT_CLIENT_BYTES + 1);

	return fw_utf8_cut(name, len, FW_LIMIT_ALERT_CLIENT_BYTES);
}

/* A client without events in a window and without a firing alert. */
static struct client *find_idle(struct fw_alerts *alerts, int64_t now_ms)
{
	for (size_t i = 0; i < alerts->client_count; i++)
		if (now_ms - alerts->clients[i].last_ms >= FW_ALERT_WINDOW_MS)
			return &alerts->clients[i];
	return NULL;
}

static struct client *find_client(struct fw_alerts *alerts, const char *name, int64_t now_ms)
{
	size_t len = name_length(name);
	uint64_t hash = fw_hash(name, len, 0);
	struct client *client;

	for (size_t i = 0; i < alerts->client_count; i++) {
		client = &alerts->clients[i];
		if (client->hash == hash && strncmp(client->name, name, len) == 0 &&
		    !client->name[len])
			return client;
	}
	client = &alerts->clients[FW_LIMIT_ALERT_CLIENTS];
	if (len == strlen(client->name) && memcmp(name, client->name, len) == 0)
		return client;
	if (alerts->client_count < FW_LIMIT_ALERT_CLIENTS) {
		client = &alerts->clients[alerts->client_count++];
	} else {
		struct client *idle = find_idle(alerts, now_ms);

		if (!idle)
			return client;
		client = idle;
		forget(client);
	}
	memcpy(client->name, name, len);
	client->name[len] = '\0';
	client->hash = hash;
	return client;
}

static struct entry *find_entry(struct client *client, const fw_row *row)
{
	struct entry *entry = client->entries;

	while (entry && entry->alert.row != row)
		entry = entry->next;
	if (entry)
		return entry;
	entry = fw__allocate(sizeof *entry);
	if (!entry)
		return NULL;
	memset(entry, 0, sizeof *entry);
	entry->alert.row = row;
	entry->alert.client = client->name;
	entry->next = client->entries;
	client->entries = entry;
	return entry;
}

/* ---- events ---- */

static unsigned needed(const struct entry *entry)
{
	return entry->alert.row->severity == FW_CRITICAL ? 1 : NEEDED;
}

static void end_if_over(struct fw_alerts *alerts, struct entry *entry, int64_t now_ms)
{
	if (!entry->alert.is_firing || now_ms < entry->alert.over_ms)
		return;
	entry->alert.is_firing = false;
	alerts->firing--;
	alerts->changed(alerts->ctx, &entry->alert);
}

static void add_time(struct entry *entry, int64_t now_ms)
{
	unsigned most = needed(entry);

	if (entry->count < most) {
		entry->times[entry->count++] = now_ms;
		return;
	}
	entry->times[entry->oldest] = now_ms;
	entry->oldest = (entry->oldest + 1) % most;
}

static void keep_incident(struct fw_alert *alert, const char *incident_id)
{
	size_t len = strnlen(incident_id, sizeof alert->incident_id - 1);

	memcpy(alert->incident_id, incident_id, len);
	alert->incident_id[len] = '\0';
}

void fw_alerts_note(struct fw_alerts *alerts, const fw_row *row, const char *client_name,
		    const char *incident_id, int64_t now_ms)
{
	struct client *client;
	struct entry *entry;
	struct fw_alert *alert;

	/* A client that is evicted must have nothing left to report. */
	fw_alerts_advance(alerts, now_ms);
	client = find_client(alerts, client_name && *client_name ? client_name : "unnamed",
			     now_ms);
	entry = find_entry(client, row);
	client->last_ms = now_ms;
	if (!entry)
		return;
	alert = &entry->alert;
	add_time(entry, now_ms);
	alert->last_ms = now_ms;
	keep_incident(alert, incident_id ? incident_id : "");
	if (entry->count < needed(entry) ||
	    now_ms - entry->times[entry->oldest] >= FW_ALERT_WINDOW_MS)
		return;
	alert->over_ms = entry->times[entry->oldest] + FW_ALERT_WINDOW_MS;
	if (alert->over_ms < alerts->next_ms)
		alerts->next_ms = alert->over_ms;
	if (alert->is_firing) {
		alert->events++;
		return;
	}
	alert->is_firing = true;
	alert->since_ms = now_ms;
	alert->events = needed(entry);
	alerts->firing++;
	alerts->changed(alerts->ctx, alert);
}

void fw_alerts_advance(struct fw_alerts *alerts, int64_t now_ms)
{
	if (now_ms < alerts->next_ms)
		return;
	alerts->next_ms = INT64_MAX;
	for (size_t i = 0; i <= FW_LIMIT_ALERT_CLIENTS; i++) {
		for (struct entry *entry = alerts->clients[i].entries; entry;
		     entry = entry->next) {
			end_if_over(alerts, entry, now_ms);
			if (entry->alert.is_firing && entry->alert.over_ms < alerts->next_ms)
				alerts->next_ms = entry->alert.over_ms;
		}
	}
}

int64_t fw_alerts_next(const struct fw_alerts *alerts)
{
	return alerts->next_ms;
}

void fw_alerts_each(const struct fw_alerts *alerts, fw_alert_fn *fn, void *ctx)
{
	for (size_t i = 0; i <= FW_LIMIT_ALERT_CLIENTS; i++)
		for (const struct entry *entry = alerts->clients[i].entries; entry;
		     entry = entry->next)
			if (entry->alert.is_firing)
				fn(ctx, &entry->alert);
}

size_t fw_alerts_firing(const struct fw_alerts *alerts)
{
	return alerts->firing;
}
