/*
 * store_admin.c - see store_admin.h.
 */
#include "store/store_admin.h"

#include <string.h>

#include <faultwire/raise.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "store/store_pg_admin.h"

/* ---- tables ----------------------------------------------------------------- */

/* A file makes its tables itself. */
static fw_error *migrate_file(const char *url, const char *role,
			      struct fw_store_migration *ret_migration)
{
	struct fw_store *store = NULL;
	char remark[256] = "";
	fw_error *err;

	if (role)
		return fw_raise_input_invalid_value("role", "nothing: a file has no roles");
	FW_TRY(fw_store_open(url, NULL, &store));
	err = fw_store_prepare(store, remark, sizeof remark);
	fw_store_free(store);
	if (!err)
		*ret_migration = (struct fw_store_migration){ .from = 1, .to = 1 };
	return err;
}

fw_error *fw_store_migrate(const char *url, const char *runtime_role,
			   struct fw_store_migration *ret_migration)
{
	if (fw_store_is_shared(url))
		return fw_store_pg_migrate(url, runtime_role, ret_migration);
	return migrate_file(url, runtime_role, ret_migration);
}

/* ---- checking --------------------------------------------------------------- */

static void count_incident(void *ctx, const struct fw_incident *incident)
{
	uint64_t *count = ctx;

	(void)incident;
	(*count)++;
}

static void count_row(void *ctx, const struct fw_store_row *row)
{
	uint64_t *count = ctx;

	(void)row;
	(*count)++;
}

struct counting {
	struct fw_store *store;
	uint64_t rows;
	fw_error *err;
};

static void count_kind(void *ctx, const char *kind)
{
	struct counting *counting = ctx;

	if (!counting->err)
		counting->err = fw_store_list(counting->store, kind, NULL, NULL, SIZE_MAX >> 1,
					      count_row, &counting->rows);
}

static fw_error *check_file(const char *url, struct fw_buf *out)
{
	const struct fw_store_options reader = { .is_reader = true };
	const struct fw_incident_filter all = { 0 };
	struct counting counting = { 0 };
	uint64_t incidents = 0;
	fw_error *err;

	FW_TRY(fw_store_open(url, &reader, &counting.store));
	err = fw_store_list_incidents(counting.store, &all, count_incident, &incidents);
	if (!err)
		err = fw_store_kinds(counting.store, count_kind, &counting);
	if (!err)
		err = counting.err;
	else
		fw_error_free(counting.err);
	fw_store_free(counting.store);
	if (err)
		return err;
	FW_BUF(out, "{\"server\":\"sqlite\",\"incidents\":");
	fw_buf_i64(out, (int64_t)incidents);
	FW_BUF(out, ",\"rows\":");
	fw_buf_i64(out, (int64_t)counting.rows);
	FW_BUF(out, "}");
	return NULL;
}

fw_error *fw_store_check(const char *url, struct fw_buf *out)
{
	return fw_store_is_shared(url) ? fw_store_pg_check(url, out) : check_file(url, out);
}

/* ---- copying: rows ----------------------------------------------------------- */

struct copy {
	struct fw_store *from;
	struct fw_store *to;
	fw_store_progress_fn *progress;
	void *ctx;
	struct fw_store_copied copied;
	fw_error *err;
	/* One page of rows. */
	const char *kind;
	struct fw_store_change changes[FW_LIMIT_STORE_CHANGES];
	char *texts[FW_LIMIT_STORE_CHANGES][3]; /* of the changes */
	size_t count;
	char after[FW_LIMIT_STORE_KEY_BYTES + 1];
};

static void add_row(void *ctx, const struct fw_store_row *row)
{
	struct copy *copy = ctx;
	char **texts = copy->texts[copy->count];

	if (copy->err)
		return;
	texts[0] = fw_strdup(row->key);
	texts[1] = fw_strdup(row->owner);
	texts[2] = fw_strdup(row->value);
	copy->changes[copy->count++] =
		(struct fw_store_change){ .action = FW_STORE_PUT,
					  .kind = copy->kind,
					  .key = texts[0],
					  .owner = texts[1],
					  .value = texts[2],
					  .number = row->number,
					  .expires_ms = row->expires_ms };
	if (!texts[0] || !texts[1] || !texts[2])
		copy->err = fw_raise_internal_out_of_memory();
	else
		memcpy(copy->after, row->key, strlen(row->key) + 1);
}

static void drop_page(struct copy *copy)
{
	for (size_t i = 0; i < copy->count; i++)
		for (size_t j = 0; j < 3; j++)
			fw__release(copy->texts[i][j]);
	copy->count = 0;
}

/* `ret_count`: rows of the page; 0 after the last. */
static fw_error *copy_page(struct copy *copy, bool is_first, size_t *ret_count)
{
	struct fw_store_result result;
	fw_error *err =
		fw_store_list(copy->from, copy->kind, NULL, is_first ? NULL : copy->after,
			      FW_LIMIT_STORE_CHANGES, add_row, copy);

	if (!err) {
		err = copy->err;
		copy->err = NULL;
	}
	if (!err && copy->count)
		err = fw_store_apply(copy->to, copy->changes, copy->count, &result);
	*ret_count = copy->count;
	if (!err)
		copy->copied.rows += copy->count;
	drop_page(copy);
	return err;
}

static void copy_kind(void *ctx, const char *kind)
{
	struct copy *copy = ctx;
	size_t count = 1;
	fw_error *err = NULL;

	if (copy->err)
		return;
	copy->kind = kind;
	for (bool is_first = true; !err && count; is_first = false) {
		err = copy_page(copy, is_first, &count);
		if (!err && copy->progress)
			copy->progress(copy->ctx, &copy->copied);
	}
	copy->err = err;
}

/* ---- copying: incidents ------------------------------------------------------- */

/* Incidents are passed on one page at a time: the reader calls back, the writer asks. */
struct page {
	struct fw_incident *incidents;
	size_t count;
	size_t at;
	struct fw_buf texts;
};

enum { PAGE = 500 };

/* Texts are copied one after the other; pointers are set when the page is complete. */
static void keep_incident(void *ctx, const struct fw_incident *incident)
{
	struct page *page = ctx;
	struct fw_incident *kept = &page->incidents[page->count++];

	*kept = *incident;
	for (size_t i = 0; i < FW_INCIDENT_TEXTS; i++) {
		const char *text = *fw_store_incident_text(kept, i);

		if (text)
			fw_buf_put(&page->texts, text, strlen(text) + 1);
	}
}

static void set_texts(struct page *page)
{
	const char *at = page->texts.text;

	for (size_t i = 0; i < page->count; i++)
		for (size_t j = 0; j < FW_INCIDENT_TEXTS; j++) {
			const char **text = fw_store_incident_text(&page->incidents[i], j);

			if (!*text)
				continue;
			*text = at;
			at += strlen(at) + 1;
		}
}

static bool next_incident(void *ctx, struct fw_incident *ret_incident)
{
	struct page *page = ctx;

	if (page->at == page->count)
		return false;
	*ret_incident = page->incidents[page->at++];
	return true;
}

static fw_error *copy_incidents(struct copy *copy, int64_t writer, struct page *page)
{
	char remark[256] = "";
	int64_t after = 0;

	do {
		page->count = page->at = 0;
		fw_buf_reset(&page->texts, SIZE_MAX);
		FW_TRY(fw_store_walk_incidents(copy->from, after, PAGE, keep_incident, page));
		if (page->texts.state != FW_BUF_OK)
			return fw_raise_internal_out_of_memory();
		set_texts(page);
		for (size_t i = 0; i < page->count; i++)
			page->incidents[i].writer = writer;
		if (page->count) {
			after = (int64_t)page->incidents[page->count - 1].number;
			FW_TRY(fw_store_prepare(copy->to, remark, sizeof remark));
			FW_TRY(fw_store_add_incidents(copy->to, next_incident, page));
		}
		copy->copied.incidents += page->count;
		if (copy->progress)
			copy->progress(copy->ctx, &copy->copied);
	} while (page->count == PAGE);
	return NULL;
}

/* The same for every copy of one store. */
static int64_t writer_of(const char *url)
{
	return (int64_t)(fw_hash_text(url, 0) >> 1) + 1;
}

static fw_error *refuse_second_copy(const char *url, struct fw_store *to)
{
	const struct fw_incident_filter one = { .limit = 1 };
	uint64_t count = 0;

	if (fw_store_is_shared(url))
		return NULL;
	FW_TRY(fw_store_list_incidents(to, &one, count_incident, &count));
	return count ? fw_raise_input_invalid_value("target", "a file without incidents")
		     : NULL;
}

static fw_error *copy_all(struct copy *copy, const char *from, const char *to)
{
	const struct fw_store_options reader = { .is_reader = true };
	const struct fw_store_options durable = { .is_durable = true };
	struct page page = { .count = 0 };
	fw_error *err;

	FW_TRY(fw_store_open(from, &reader, &copy->from));
	FW_TRY(fw_store_open(to, &durable, &copy->to));
	FW_TRY(refuse_second_copy(to, copy->to));
	FW_TRY(fw_store_kinds(copy->from, copy_kind, copy));
	if (copy->err)
		return copy->err;
	page.incidents = fw__allocate(PAGE * sizeof *page.incidents);
	if (!page.incidents)
		return fw_raise_internal_out_of_memory();
	fw_buf_init(&page.texts, (size_t)PAGE * 2 * FW_LIMIT_INCIDENT_BYTES);
	err = copy_incidents(copy, writer_of(from), &page);
	fw_buf_clear(&page.texts);
	fw__release(page.incidents);
	return err;
}

fw_error *fw_store_copy(const char *from, const char *to, fw_store_progress_fn *progress,
			void *ctx, struct fw_store_copied *ret_copied)
{
	struct copy *copy = fw__allocate(sizeof *copy);
	fw_error *err;

	if (!copy)
		return fw_raise_internal_out_of_memory();
	memset(copy, 0, sizeof *copy);
	copy->progress = progress;
	copy->ctx = ctx;
	err = copy_all(copy, from, to);
	*ret_copied = copy->copied;
	fw_store_free(copy->from);
	fw_store_free(copy->to);
	fw__release(copy);
	return err;
}
