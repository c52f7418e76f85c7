/*
 * api_recent.c - a ring of minutes, and a table of rows with a ring of their own.
 *
 * A minute has a histogram of durations with buckets that grow by the square root of two,
 * so that a percentile has an error of less than a fifth over the whole range. Rows are
 * found by comparing their hash: there are few.
 */
#include "api/api_recent.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/real.h"
#include "base/utf8.h"

enum { MINUTE_MS = 60 * 1000, BUCKETS = 56, NAME_BYTES = 96, ID_BYTES = 48 };

struct minute {
	uint32_t calls;
	uint32_t failures;
	uint32_t recovered;       /* calls that succeeded after a failure worth a retry */
	uint32_t failed_again;    /* calls that failed after such a failure */
	uint32_t unauthenticated; /* requests refused before authentication */
	uint32_t durations[BUCKETS];
};

/* Requests with one code (NULL: they succeeded), tool and client. */
struct row {
	const fw_row *code;
	char tool[NAME_BYTES];
	char client[NAME_BYTES];
	char toolset[NAME_BYTES]; /* or upstream */
	char incident[ID_BYTES];  /* of the last one */
	uint64_t hash;
	int64_t last_ms;
	uint64_t total;
	/* Of the row of successes: the last call of this tool and client failed with
	 * this code, and a retry may cure it. */
	const fw_row *due;
	uint16_t counts[FW_API_RECENT_MINUTES];
	/* Of a row of failures: how the next call of the same tool and client ended. */
	uint16_t recovered[FW_API_RECENT_MINUTES];
	uint16_t failed_again[FW_API_RECENT_MINUTES];
};

struct fw_api_recent {
	int64_t started_ms;
	int64_t minute; /* the current one, counted from 1970 */
	uint64_t calls;
	uint64_t failures;
	uint64_t replaced; /* requests of rows that were replaced */
	size_t count;
	struct row *rows[FW_API_RECENT_ROWS];
	struct minute minutes[FW_API_RECENT_MINUTES];
};

struct fw_api_recent *fw_api_recent_new(int64_t now_ms)
{
	struct fw_api_recent *recent = fw__allocate(sizeof *recent);

	if (!recent)
		return NULL;
	memset(recent, 0, sizeof *recent);
	recent->started_ms = now_ms;
	recent->minute = now_ms / MINUTE_MS;
	return recent;
}

void fw_api_recent_free(struct fw_api_recent *recent)
{
	if (!recent)
		return;
	for (size_t i = 0; i < recent->count; i++)
		fw__release(recent->rows[i]);
	fw__release(recent);
}

/* ---- time -------------------------------------------------------------------------- */

static size_t slot_of(int64_t minute)
{
	return (size_t)(minute % FW_API_RECENT_MINUTES);
}

/* Forgets the minutes that the clock has passed. A clock that was set back keeps
 * counting in the current minute, unless that is too far ahead to wait for. */
static void advance(struct fw_api_recent *recent, int64_t now_ms)
{
	int64_t minute = now_ms / MINUTE_MS;
	int64_t passed = minute - recent->minute;

	if (passed <= 0 && passed > -FW_API_RECENT_MINUTES)
		return;
	if (passed < 0 || passed > FW_API_RECENT_MINUTES)
		passed = FW_API_RECENT_MINUTES;
	for (int64_t i = 0; i < passed; i++) {
		size_t slot = slot_of(minute - i);

		memset(&recent->minutes[slot], 0, sizeof recent->minutes[slot]);
		for (size_t j = 0; j < recent->count; j++) {
			recent->rows[j]->counts[slot] = 0;
			recent->rows[j]->recovered[slot] = 0;
			recent->rows[j]->failed_again[slot] = 0;
		}
	}
	recent->minute = minute;
}

/* ---- rows -------------------------------------------------------------------------- */

/* Copies what fits, without cutting a character. */
static void copy_name(char to[NAME_BYTES], const char *from)
{
	size_t len = from ? fw_utf8_cut(from, strnlen(from, NAME_BYTES), NAME_BYTES - 1) : 0;

	if (len)
		memcpy(to, from, len);
	to[len] = '\0';
}

static bool is_same(const struct row *a, const struct row *b)
{
	return a->hash == b->hash && a->code == b->code && strcmp(a->tool, b->tool) == 0 &&
	       strcmp(a->client, b->client) == 0;
}

/* The place of a new row: after the last one, or that of the row that was seen least
 * recently. */
static struct row *new_row(struct fw_api_recent *recent)
{
	size_t oldest = 0;

	if (recent->count < FW_API_RECENT_ROWS) {
		struct row *row = fw__allocate(sizeof *row);

		if (row)
			recent->rows[recent->count++] = row;
		return row;
	}
	for (size_t i = 1; i < recent->count; i++)
		if (recent->rows[i]->last_ms < recent->rows[oldest]->last_ms)
			oldest = i;
	recent->replaced += recent->rows[oldest]->total;
	return recent->rows[oldest];
}

static struct row *find_row(const struct fw_api_recent *recent, const struct row *wanted)
{
	for (size_t i = 0; i < recent->count; i++)
		if (is_same(recent->rows[i], wanted))
			return recent->rows[i];
	return NULL;
}

/* NULL: no memory. */
static struct row *row_of(struct fw_api_recent *recent, const fw_outcome *outcome,
			  const char *toolset, const fw_row *code)
{
	struct row wanted = { .code = code };
	const char *name = outcome->is_known ? outcome->name : outcome->method;
	struct row *row;

	copy_name(wanted.tool, name);
	copy_name(wanted.client, outcome->client);
	wanted.hash = fw_hash_text(wanted.client, fw_hash_text(wanted.tool, 0));
	row = find_row(recent, &wanted);
	if (!row) {
		row = new_row(recent);
		if (row)
			*row = wanted;
	}
	if (row && toolset)
		copy_name(row->toolset, toolset);
	return row;
}

static void count_up(uint16_t *number)
{
	if (*number < UINT16_MAX)
		(*number)++;
}

/* Whether failures that are worth a retry end well: the next call of the same tool by
 * the same client tells. */
static void note_retry(struct fw_api_recent *recent, struct row *successes, const fw_error *err)
{
	size_t slot = slot_of(recent->minute);
	struct row wanted = *successes;
	struct row *failed;

	if (successes->due) {
		if (err)
			recent->minutes[slot].failed_again++;
		else
			recent->minutes[slot].recovered++;
		wanted.code = successes->due;
		failed = find_row(recent, &wanted);
		if (failed)
			count_up(err ? &failed->failed_again[slot] : &failed->recovered[slot]);
	}
	successes->due =
		err && fw_error_retry(err) == FW_RETRY_BACKOFF ? fw_error_row(err) : NULL;
}

static size_t bucket_of(uint64_t duration_ns)
{
	double us = (double)duration_ns / 1000;
	size_t bucket = 0;

	/* A power of two has two buckets: 2 * log2(us) is log2(us * us). */
	while (bucket < BUCKETS - 1 && us * us >= (double)((uint64_t)2 << bucket))
		bucket++;
	return bucket;
}

void fw_api_recent_note(struct fw_api_recent *recent, const fw_outcome *outcome,
			const char *toolset, int64_t now_ms)
{
	const fw_error *err = outcome->error;
	struct minute *minute;
	struct row *row;

	advance(recent, now_ms);
	minute = &recent->minutes[slot_of(recent->minute)];
	if (outcome->is_unauthenticated) {
		minute->unauthenticated++;
		return;
	}
	recent->calls++;
	minute->calls++;
	if (err) {
		recent->failures++;
		minute->failures++;
	}
	minute->durations[bucket_of(outcome->duration_ns)]++;
	row = row_of(recent, outcome, toolset, NULL);
	if (row) {
		note_retry(recent, row, err);
		row->last_ms = now_ms; /* also if it fails: it keeps its place */
	}
	if (err)
		row = row_of(recent, outcome, toolset, fw_error_row(err));
	if (!row)
		return;
	row->last_ms = now_ms;
	row->total++;
	count_up(&row->counts[slot_of(recent->minute)]);
	if (err && fw_error_incident_id(err) && strlen(fw_error_incident_id(err)) < ID_BYTES)
		memcpy(row->incident, fw_error_incident_id(err),
		       strlen(fw_error_incident_id(err)) + 1);
}

/* ---- as JSON ------------------------------------------------------------------------- */

static uint32_t number_of(const struct minute *minute, size_t offset)
{
	uint32_t number;

	memcpy(&number, (const char *)minute + offset, sizeof number);
	return number;
}

/* One number of every minute, the oldest first. */
static void put_series(const struct fw_api_recent *recent, const char *key, size_t offset,
		       struct fw_buf *out)
{
	fw_buf_json_key(out, key);
	for (int64_t i = 0; i < FW_API_RECENT_MINUTES; i++) {
		size_t slot = slot_of(recent->minute + 1 + i);

		fw_buf_put(out, i ? "," : "[", 1);
		fw_buf_i64(out, number_of(&recent->minutes[slot], offset));
	}
	FW_BUF(out, "]");
}

/* The geometric middle of a bucket: 2 to the power of (i + 0.5) / 2. */
static double middle_us(size_t bucket)
{
	static const double rest[2] = { 1.1892071150027210667, 1.6817928305074290861 };

	return rest[bucket % 2] * (double)((uint64_t)1 << bucket / 2);
}

/* Milliseconds below which this part of the durations lies; negative: no calls. */
static double percentile(const uint32_t durations[BUCKETS], double part)
{
	uint64_t sum = 0, below = 0;

	for (size_t i = 0; i < BUCKETS; i++)
		sum += durations[i];
	for (size_t i = 0; i < BUCKETS; i++) {
		below += durations[i];
		if (sum && (double)below >= part * (double)sum)
			return middle_us(i) / 1000;
	}
	return -1;
}

static void put_percentile(struct fw_buf *out, const uint32_t durations[BUCKETS], double part)
{
	double ms = percentile(durations, part);

	if (ms < 0)
		FW_BUF(out, "null");
	else
		fw_buf_f64(out, fw_round(ms * 1000) / 1000);
}

static void put_durations(const struct fw_api_recent *recent, const char *key, double part,
			  struct fw_buf *out)
{
	fw_buf_json_key(out, key);
	for (int64_t i = 0; i < FW_API_RECENT_MINUTES; i++) {
		size_t slot = slot_of(recent->minute + 1 + i);

		fw_buf_put(out, i ? "," : "[", 1);
		put_percentile(out, recent->minutes[slot].durations, part);
	}
	FW_BUF(out, "]");
}

static void put_text(struct fw_buf *out, const char *key, const char *text)
{
	if (!text[0])
		return;
	fw_buf_json_key(out, key);
	fw_buf_json_str(out, text);
}

/* Counts are written without the minutes before the first one that is not 0. */
static void put_counts(const struct fw_api_recent *recent, const struct row *row,
		       struct fw_buf *out)
{
	int64_t first = 0;

	while (first < FW_API_RECENT_MINUTES &&
	       !row->counts[slot_of(recent->minute + 1 + first)])
		first++;
	fw_buf_json_key(out, "counts");
	FW_BUF(out, "[");
	for (int64_t i = first; i < FW_API_RECENT_MINUTES; i++) {
		if (i > first)
			FW_BUF(out, ",");
		fw_buf_i64(out, row->counts[slot_of(recent->minute + 1 + i)]);
	}
	FW_BUF(out, "]");
}

static void put_number(struct fw_buf *out, const char *key, int64_t number)
{
	fw_buf_json_key(out, key);
	fw_buf_i64(out, number);
}

static int64_t sum_of(const uint16_t counts[FW_API_RECENT_MINUTES])
{
	int64_t sum = 0;

	for (size_t i = 0; i < FW_API_RECENT_MINUTES; i++)
		sum += counts[i];
	return sum;
}

static void put_row(const struct fw_api_recent *recent, const struct row *row,
		    struct fw_buf *out)
{
	FW_BUF(out, "{\"last_ms\":");
	fw_buf_i64(out, row->last_ms);
	if (row->code) {
		put_text(out, "code", row->code->code);
		put_text(out, "severity", fw_severity_name(row->code->severity));
		put_text(out, "retry", fw_retry_name(row->code->retry));
		put_number(out, "recovered", sum_of(row->recovered));
		put_number(out, "failed_again", sum_of(row->failed_again));
	}
	put_text(out, "tool", row->tool);
	put_text(out, "client", row->client);
	put_text(out, "toolset", row->toolset);
	put_text(out, "incident_id", row->incident);
	put_counts(recent, row, out);
	FW_BUF(out, "}");
}

void fw_api_recent_put(struct fw_api_recent *recent, int64_t now_ms, struct fw_buf *out)
{
	bool is_first = true;

	advance(recent, now_ms);
	FW_BUF(out, "\"now_ms\":");
	fw_buf_i64(out, now_ms);
	put_number(out, "started_ms", recent->started_ms);
	put_number(out, "minute_ms", recent->minute * MINUTE_MS);
	put_number(out, "calls_total", (int64_t)recent->calls);
	put_number(out, "failures_total", (int64_t)recent->failures);
	put_number(out, "without_row", (int64_t)recent->replaced);
	put_series(recent, "calls", offsetof(struct minute, calls), out);
	put_series(recent, "failures", offsetof(struct minute, failures), out);
	put_series(recent, "recovered", offsetof(struct minute, recovered), out);
	put_series(recent, "failed_again", offsetof(struct minute, failed_again), out);
	put_series(recent, "unauthenticated", offsetof(struct minute, unauthenticated), out);
	put_durations(recent, "p50_ms", 0.50, out);
	put_durations(recent, "p95_ms", 0.95, out);
	put_durations(recent, "p99_ms", 0.99, out);
	FW_BUF(out, ",\"rows\":[");
	for (size_t i = 0; i < recent->count; i++) {
		if (!recent->rows[i]->total)
			continue;
		if (!is_first)
			FW_BUF(out, ",");
		is_first = false;
		put_row(recent, recent->rows[i], out);
	}
	FW_BUF(out, "]");
}
