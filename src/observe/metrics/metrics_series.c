/*
 * metrics_series.c - see metrics_series.h.
 */
#include "observe/metrics/metrics_series.h"

#include <string.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"

static const char OTHER[] = "other";

void fw_metrics_series_init(struct fw_metrics_series_table *table, unsigned label_count,
			    unsigned open_label, unsigned value_count, size_t max)
{
	memset(table, 0, sizeof *table);
	table->label_count = label_count;
	table->open_label = open_label;
	table->value_count = value_count;
	table->max = max;
}

void fw_metrics_series_clear(struct fw_metrics_series_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		fw__release(table->items[i]);
	fw__release(table->items);
	fw__release(table->slots);
	table->items = NULL;
	table->slots = NULL;
	table->count = table->room = table->slot_count = 0;
}

static unsigned label_count(const struct fw_metrics_series_table *table)
{
	return table->label_count < FW_METRICS_SERIES_LABELS ? table->label_count
							     : FW_METRICS_SERIES_LABELS;
}

/* The number of bytes of a value that are stored. Only complete UTF-8 characters are. */
static size_t label_length(const char *text)
{
	size_t len = strnlen(text, FW_LIMIT_METRIC_LABEL_BYTES + 1);

	return fw_utf8_cut(text, len, FW_LIMIT_METRIC_LABEL_BYTES);
}

/* The hash is not keyed: `max` limits the harm of deliberate collisions. */
static uint64_t hash_labels(const struct fw_metrics_series_table *table,
			    const char *const *labels)
{
	uint64_t hash = 0;

	for (unsigned i = 0; i < label_count(table); i++)
		hash = fw_hash(labels[i], label_length(labels[i]), hash);
	return hash;
}

static int is_same(const struct fw_metrics_series_table *table,
		   const struct fw_metrics_series *series, const char *const *labels)
{
	for (unsigned i = 0; i < label_count(table); i++) {
		size_t len = label_length(labels[i]);

		if (strncmp(series->labels[i], labels[i], len) != 0 || series->labels[i][len])
			return 0;
	}
	return 1;
}

static int grow(struct fw_metrics_series_table *table)
{
	size_t room = table->room ? table->room * 2 : 16;
	struct fw_metrics_series **items = fw__reallocate(table->items, room * sizeof(*items));
	uint32_t *slots;

	if (!items)
		return 0;
	table->items = items;
	slots = fw__allocate(2 * room * sizeof *slots);
	if (!slots)
		return 0;
	memset(slots, 0, 2 * room * sizeof *slots);
	for (size_t i = 0; i < table->count; i++) {
		size_t at = items[i]->hash & (2 * room - 1);

		while (slots[at])
			at = (at + 1) & (2 * room - 1);
		slots[at] = (uint32_t)i + 1;
	}
	fw__release(table->slots);
	table->slots = slots;
	table->slot_count = 2 * room;
	table->room = room;
	return 1;
}

static struct fw_metrics_series *add(struct fw_metrics_series_table *table,
				     const char *const *labels, uint64_t hash)
{
	size_t size = sizeof(struct fw_metrics_series) + table->value_count * sizeof(uint64_t);
	size_t text_size = 0, at;
	struct fw_metrics_series *series;
	char *text;

	if (table->count == table->room && !grow(table))
		return NULL;
	for (unsigned i = 0; i < label_count(table); i++)
		text_size += label_length(labels[i]) + 1;
	series = fw__allocate(size + text_size);
	if (!series)
		return NULL;
	memset(series, 0, size);
	series->hash = hash;
	text = (char *)series + size;
	for (unsigned i = 0; i < label_count(table); i++) {
		size_t len = label_length(labels[i]);

		memcpy(text, labels[i], len);
		text[len] = '\0';
		series->labels[i] = text;
		text += len + 1;
	}
	at = hash & (table->slot_count - 1);
	while (table->slots[at])
		at = (at + 1) & (table->slot_count - 1);
	table->items[table->count++] = series;
	table->slots[at] = (uint32_t)table->count;
	return series;
}

static struct fw_metrics_series *look_up(const struct fw_metrics_series_table *table,
					 const char *const *labels, uint64_t hash)
{
	for (size_t at = (size_t)hash; table->slot_count; at++) {
		uint32_t slot = table->slots[at & (table->slot_count - 1)];

		if (!slot)
			break;
		if (table->items[slot - 1]->hash == hash &&
		    is_same(table, table->items[slot - 1], labels))
			return table->items[slot - 1];
	}
	return NULL;
}

struct fw_metrics_series *fw_metrics_series_find(struct fw_metrics_series_table *table,
						 const char *const *labels)
{
	const char *capped[FW_METRICS_SERIES_LABELS] = { OTHER, OTHER, OTHER };
	struct fw_metrics_series *found;
	uint64_t hash;

	/* Try the labels unchanged, then with the open label as "other", then with all as
	 * "other". */
	for (unsigned level = 0;; level++) {
		hash = hash_labels(table, labels);
		found = look_up(table, labels, hash);
		if (found)
			return found;
		if (level == 2 || table->count < (level + 1) * table->max)
			return add(table, labels, hash);
		for (unsigned i = 0; i < label_count(table); i++)
			capped[i] = level || i == table->open_label ? OTHER : labels[i];
		labels = capped;
	}
}
