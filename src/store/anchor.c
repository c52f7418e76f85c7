/*
 * anchor.c - see anchor.h.
 */
#include "store/anchor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#include "base/json.h"
#include "base/limits_store.h"
#include "base/mem.h"
#include "store/pg.h"
#include "store/store.h"

enum { NUMBER_SIZE = 24 };

struct fw_anchors {
	char *path;              /* of a file; NULL: it is a database */
	struct fw_pg_pool *pool; /* NULL: it is a file */
};

/* ---- a file ------------------------------------------------------------------- */

void fw_anchors_put(struct fw_buf *line, const struct fw_anchor *anchor)
{
	FW_BUF(line, "{\"log\":");
	fw_buf_json_str(line, anchor->log);
	FW_BUF(line, ",\"replica\":");
	fw_buf_json_str(line, anchor->replica);
	FW_BUF(line, ",\"seq\":");
	fw_buf_i64(line, (int64_t)anchor->seq);
	FW_BUF(line, ",\"hash\":");
	fw_buf_json_str(line, anchor->hash);
	FW_BUF(line, ",\"time\":");
	fw_buf_i64(line, anchor->time_ms);
	FW_BUF(line, ",\"reason\":");
	fw_buf_json_str(line, anchor->reason);
	FW_BUF(line, "}\n");
}

fw_error *fw_anchors_refuse(struct fw_buf *line)
{
	bool is_large = line->state == FW_BUF_TOO_LARGE;

	fw_buf_clear(line);
	return is_large ? fw_raise_input_too_large("anchor", FW_LIMIT_ANCHOR_LINE_BYTES)
			: fw_raise_internal_out_of_memory();
}

/* One write with O_APPEND: several servers may use the file. */
static fw_error *add_to_file(const char *path, const struct fw_anchor *anchor)
{
	struct fw_buf line;
	int fd, error = 0;

	fw_buf_init(&line, FW_LIMIT_ANCHOR_LINE_BYTES);
	fw_anchors_put(&line, anchor);
	if (line.state != FW_BUF_OK)
		return fw_anchors_refuse(&line);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
	if (fd < 0)
		error = errno;
	else if (write(fd, line.text, line.len) != (ssize_t)line.len || fdatasync(fd) != 0)
		error = errno ? errno : EIO;
	if (fd >= 0)
		(void)close(fd);
	fw_buf_clear(&line);
	return error ? fw_error_from_errno(FW_HERE, error, path) : NULL;
}

/* A line that is incomplete or not an anchor is skipped: a missing anchor proves less,
 * never something wrong. False: there was no memory. */
static bool read_line(const char *text, size_t len, const char *log, fw_anchor_fn *found,
		      void *ctx)
{
	yyjson_read_err why = { .code = 0 };
	yyjson_doc *doc = fw_json_read(text, len, FW_JSON_SMALL, 0, NULL, &why);
	yyjson_val *root = yyjson_doc_get_root(doc);
	struct fw_anchor anchor = {
		.log = yyjson_get_str(yyjson_obj_get(root, "log")),
		.replica = yyjson_get_str(yyjson_obj_get(root, "replica")),
		.seq = yyjson_get_uint(yyjson_obj_get(root, "seq")),
		.hash = yyjson_get_str(yyjson_obj_get(root, "hash")),
		.time_ms = yyjson_get_sint(yyjson_obj_get(root, "time")),
		.reason = yyjson_get_str(yyjson_obj_get(root, "reason")),
	};

	if (anchor.log && anchor.replica && anchor.hash && anchor.reason && anchor.seq &&
	    strcmp(anchor.log, log) == 0)
		found(ctx, &anchor);
	yyjson_doc_free(doc);
	return doc || why.code != YYJSON_READ_ERROR_MEMORY_ALLOCATION;
}

static fw_error *list_file(const char *path, const char *log, fw_anchor_fn *found, void *ctx)
{
	char line[FW_LIMIT_ANCHOR_LINE_BYTES + 2];
	FILE *file = fopen(path, "re");
	bool is_read = true;

	if (!file) {
		int error = errno;

		return fw_error_from_errno(FW_HERE, error, path);
	}
	while (is_read && fgets(line, sizeof line, file))
		is_read = read_line(line, strlen(line), log, found, ctx);
	(void)fclose(file);
	return is_read ? NULL : fw_raise_internal_out_of_memory();
}

/* ---- a database ----------------------------------------------------------------- */

static fw_error *add_to_database(struct fw_pg_pool *pool, const struct fw_anchor *anchor)
{
	char seq[NUMBER_SIZE], time[NUMBER_SIZE];
	const char *const values[] = { anchor->log, anchor->replica, seq, anchor->hash,
				       time,        anchor->reason };
	struct fw_pg *pg = NULL;
	fw_error *err;

	(void)snprintf(seq, sizeof seq, "%llu", (unsigned long long)anchor->seq);
	(void)snprintf(time, sizeof time, "%lld", (long long)anchor->time_ms);
	FW_TRY(fw_pg_take(pool, FW_LIMIT_PG_ANSWER_MS, true, &pg));
	err = fw_pg_query(pg,
			  "INSERT INTO faultwire.anchor(log,replica,seq,hash,time,reason)"
			  " VALUES($1,$2,$3::bigint,$4,$5::bigint,$6)",
			  6, values, NULL, NULL);
	fw_pg_give(pg, !err);
	return err;
}

struct listing {
	fw_anchor_fn *found;
	void *ctx;
};

static fw_error *pass_anchor(void *ctx, const PGresult *row)
{
	const struct listing *listing = ctx;

	listing->found(listing->ctx, &(struct fw_anchor){
					     .log = PQgetvalue(row, 0, 0),
					     .replica = PQgetvalue(row, 0, 1),
					     .seq = (uint64_t)fw_pg_number(row, 0, 2),
					     .hash = PQgetvalue(row, 0, 3),
					     .time_ms = fw_pg_number(row, 0, 4),
					     .reason = PQgetvalue(row, 0, 5),
				     });
	return NULL;
}

static fw_error *list_database(struct fw_pg_pool *pool, const char *log, fw_anchor_fn *found,
			       void *ctx)
{
	const char *const values[] = { log };
	struct listing listing = { found, ctx };
	struct fw_pg *pg = NULL;
	fw_error *err;

	FW_TRY(fw_pg_take(pool, FW_LIMIT_PG_READ_MS, true, &pg));
	err = fw_pg_query(pg,
			  "SELECT log,replica,seq,hash,time,reason FROM faultwire.anchor"
			  " WHERE log=$1 ORDER BY n",
			  1, values, pass_anchor, &listing);
	fw_pg_give(pg, !err);
	return err;
}

/* ---- both ------------------------------------------------------------------------ */

fw_error *fw_anchors_open(const char *url, struct fw_anchors **ret_anchors)
{
	static const char scheme[] = "file:";
	bool is_file = strncmp(url, scheme, sizeof scheme - 1) == 0 && url[sizeof scheme - 1];
	struct fw_anchors *anchors;
	fw_error *err = NULL;

	if (!is_file && !fw_store_is_shared(url))
		return fw_raise_input_invalid_value("anchors", "file:PATH or postgresql://...");
	anchors = fw__allocate(sizeof *anchors);
	if (!anchors)
		return fw_raise_internal_out_of_memory();
	*anchors = (struct fw_anchors){ .path = NULL };
	if (is_file)
		anchors->path = fw_strdup(url + sizeof scheme - 1);
	else
		err = fw_pg_pool_get(url, FW_PG_RUN, &anchors->pool);
	if (!err && is_file && !anchors->path)
		err = fw_raise_internal_out_of_memory();
	if (err)
		fw_anchors_free(anchors);
	else
		*ret_anchors = anchors;
	return err;
}

void fw_anchors_free(struct fw_anchors *anchors)
{
	if (!anchors)
		return;
	fw_pg_pool_unref(anchors->pool);
	fw__release(anchors->path);
	fw__release(anchors);
}

fw_error *fw_anchors_add(struct fw_anchors *anchors, const struct fw_anchor *anchor)
{
	return anchors->path ? add_to_file(anchors->path, anchor)
			     : add_to_database(anchors->pool, anchor);
}

fw_error *fw_anchors_list(struct fw_anchors *anchors, const char *log, fw_anchor_fn *found,
			  void *ctx)
{
	return anchors->path ? list_file(anchors->path, log, found, ctx)
			     : list_database(anchors->pool, log, found, ctx);
}
