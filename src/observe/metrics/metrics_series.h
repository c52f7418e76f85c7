/*
 * metrics_series.h - the series of one metric: a table from label values to numbers,
 * with a limit.
 *
 * The one rule to remember: finding an existing series allocates nothing. Above the
 * limit, the label whose values peers can invent becomes "other".
 */
#ifndef FW_OBSERVE_METRICS_SERIES_H
#define FW_OBSERVE_METRICS_SERIES_H

#include <stddef.h>
#include <stdint.h>

enum { FW_METRICS_SERIES_LABELS = 3 };

struct fw_metrics_series {
	uint64_t hash;
	const char *labels[FW_METRICS_SERIES_LABELS];
	uint64_t values[];
};

struct fw_metrics_series_table {
	unsigned label_count;
	unsigned open_label;  /* index of the label that becomes "other" */
	unsigned value_count; /* numbers per series */
	size_t max;           /* number of series, without those with "other" */
	struct fw_metrics_series **items;
	size_t count;
	size_t room;
	uint32_t *slots; /* open addressing: index + 1, 0 is free */
	size_t slot_count;
};

/* Initializes a table of at most `max` series with `value_count` numbers each, all 0. */
void fw_metrics_series_init(struct fw_metrics_series_table *table, unsigned label_count,
			    unsigned open_label, unsigned value_count, size_t max);
void fw_metrics_series_clear(struct fw_metrics_series_table *table);

/* Finds or adds a series. Long values are truncated. NULL: no memory. */
struct fw_metrics_series *fw_metrics_series_find(struct fw_metrics_series_table *table,
						 const char *const *labels);

#endif
