/*
 * metrics_series.h - the series of one metric: a table from label values to numbers,
 * with a ceiling.
 *
 * The one rule to remember: finding a series that is there allocates nothing.
 * Past the ceiling a label that others can mint becomes "other".
 */
#ifndef FW_OBSERVE_METRICS_SERIES_H
#define FW_OBSERVE_METRICS_SERIES_H

#include <stddef.h>
#include <stdint.h>

enum { FW_METRICS_SERIES_LABELS = 3 };

struct fw_metrics_series {
	uint32_t hash;
	const char *labels[FW_METRICS_SERIES_LABELS];
	uint64_t values[];
};

struct fw_metrics_series_table {
	unsigned label_count;
	unsigned open_label;  /* the one that becomes "other" */
	unsigned value_count; /* of each series */
	size_t max;           /* series, but for those with "other" */
	struct fw_metrics_series **items;
	size_t count;
	size_t room;
	uint32_t *slots; /* open addressing: index + 1, 0 is free */
	size_t slot_count;
};

/* Of `max` series with so many numbers, all 0 at first. */
void fw_metrics_series_init(struct fw_metrics_series_table *table, unsigned label_count,
			    unsigned open_label, unsigned value_count, size_t max);
void fw_metrics_series_clear(struct fw_metrics_series_table *table);

/* NULL: no memory for a new one. Values are cut at a limit. */
struct fw_metrics_series *fw_metrics_series_find(struct fw_metrics_series_table *table,
						 const char *const *labels);

#endif
