/*
 * tools_write.c - the tools that change files: write_file, write_files, move_file,
 * delete_file and make_directory. What they share is in write.h.
 */
#include <stdio.h>

#include <yyjson.h>

#include "base/json.h"
#include "tools/workspace/write.h"

#include <faultwire/raise.h>

static void put_result(fw_call *call, struct fw_buf *out)
{
	if (out->state == FW_BUF_OK)
		fw_call_structured(call, out->text, out->len);
	fw_buf_clear(out);
}

/* ---- write_file ---- */

fw_error *fw_ws_write_file(fw_call *call, void *ctx)
{
	struct fw_ws_write w;
	struct fw_buf out;
	fw_error *err = fw_ws_write_begin(&w, ctx, call, 1);

	if (!err) {
		struct fw_ws_item *item = &w.items[0];

		w.takes_reports = true;
		item->given = fw_call_string(call, "path", &item->given_len);
		item->content = fw_call_string(call, "content", &item->content_len);
		item->diff = fw_call_string(call, "patch", &item->diff_len);
		item->previous = fw_call_string(call, "previousHash", NULL);
		item->creates = fw_call_bool(call, "create", false);
		w.makes_directories = fw_call_bool(call, "make_directories", false);
		err = fw_ws_write_run(&w);
	}
	if (!err && !w.is_waiting) {
		fw_buf_init(&out, 4 * FW_PATH_SIZE);
		fw_ws_write_put_item(&w.items[0], &out);
		put_result(call, &out);
	}
	FW_WS_STEP("returned");
	fw_ws_write_clear(&w);
	return err;
}

/* ---- write_files ---- */

static const char *text_of(yyjson_val *object, const char *name, size_t *ret_len)
{
	yyjson_val *value = yyjson_obj_get(object, name);

	if (ret_len)
		*ret_len = yyjson_get_len(value);
	return yyjson_get_str(value);
}

static void read_items(struct fw_ws_write *w, yyjson_val *files)
{
	yyjson_arr_iter iter;
	size_t i = 0;

	yyjson_arr_iter_init(files, &iter);
	for (yyjson_val *from; (from = yyjson_arr_iter_next(&iter)); i++) {
		struct fw_ws_item *item = &w->items[i];

		(void)snprintf(item->where, sizeof item->where, "files/%u/",
			       (unsigned)i & 0xffff);
		item->given = text_of(from, "path", &item->given_len);
		item->content = text_of(from, "content", &item->content_len);
		item->diff = text_of(from, "patch", &item->diff_len);
		item->previous = text_of(from, "previousHash", NULL);
		item->creates = yyjson_get_bool(yyjson_obj_get(from, "create"));
		item->deletes = yyjson_get_bool(yyjson_obj_get(from, "delete"));
	}
}

static void put_items(const struct fw_ws_write *w, struct fw_buf *out)
{
	fw_buf_init(out, (FW_LIMIT_WORKSPACE_FILES + 1) * 4 * (size_t)FW_PATH_SIZE);
	FW_BUF(out, "{\"files\":[");
	for (size_t i = 0; i < w->count; i++) {
		if (i)
			FW_BUF(out, ",");
		fw_ws_write_put_item(&w->items[i], out);
	}
	FW_BUF(out, "]}");
}

fw_error *fw_ws_write_files(fw_call *call, void *ctx)
{
	const struct fw_json_limits limits = { .bytes = FW_LIMIT_JSON_BYTES, .depth = 8 };
	struct fw_ws_write w;
	struct fw_buf out;
	size_t len = 0;
	const char *text = fw_call_json(call, "files", &len);
	yyjson_doc *doc = text ? fw_json_read(text, len, limits, 0, NULL, NULL) : NULL;
	yyjson_val *files = yyjson_doc_get_root(doc);
	fw_error *err;

	if (!doc)
		return fw_raise_internal_out_of_memory();
	err = fw_ws_write_begin(&w, ctx, call, yyjson_arr_size(files));
	if (!err) {
		w.makes_directories = fw_call_bool(call, "make_directories", false);
		read_items(&w, files);
		err = fw_ws_write_run(&w);
	}
	if (!err && !w.is_waiting) {
		put_items(&w, &out);
		put_result(call, &out);
	}
	FW_WS_STEP("returned");
	fw_ws_write_clear(&w);
	yyjson_doc_free(doc);
	return err;
}

/* ---- move_file and delete_file ---- */

/* The new file has the content and the mode of the old one. */
fw_error *fw_ws_move_file(fw_call *call, void *ctx)
{
	struct fw_ws_write w;
	struct fw_buf out;
	fw_error *err = fw_ws_write_begin(&w, ctx, call, 2);

	if (!err) {
		struct fw_ws_item *from = &w.items[0];
		struct fw_ws_item *to = &w.items[1];

		from->given = fw_call_string(call, "path", &from->given_len);
		from->previous = fw_call_string(call, "previousHash", NULL);
		from->deletes = true;
		to->given = fw_call_string(call, "to", &to->given_len);
		to->creates = true;
		to->source = from;
		w.makes_directories = fw_call_bool(call, "make_directories", false);
		err = fw_ws_write_run(&w);
	}
	if (!err && !w.is_waiting) {
		put_items(&w, &out);
		put_result(call, &out);
	}
	fw_ws_write_clear(&w);
	return err;
}

fw_error *fw_ws_delete_file(fw_call *call, void *ctx)
{
	struct fw_ws_write w;
	struct fw_buf out;
	fw_error *err = fw_ws_write_begin(&w, ctx, call, 1);

	if (!err) {
		w.items[0].given = fw_call_string(call, "path", &w.items[0].given_len);
		w.items[0].previous = fw_call_string(call, "previousHash", NULL);
		w.items[0].deletes = true;
		err = fw_ws_write_run(&w);
	}
	if (!err && !w.is_waiting) {
		fw_buf_init(&out, 4 * FW_PATH_SIZE);
		fw_ws_write_put_item(&w.items[0], &out);
		put_result(call, &out);
	}
	fw_ws_write_clear(&w);
	return err;
}

/* ---- make_directory ---- */

fw_error *fw_ws_make_directory(fw_call *call, void *ctx)
{
	struct fw_ws_write w;
	struct fw_buf out;
	fw_error *err = fw_ws_write_begin(&w, ctx, call, 0);

	if (!err) {
		w.directory = fw_call_string(call, "path", &w.directory_len);
		err = fw_ws_write_run(&w);
	}
	if (!err && !w.is_waiting) {
		fw_buf_init(&out, 4 * FW_PATH_SIZE);
		FW_BUF(&out, "{\"path\":");
		fw_buf_json_str(&out, w.directory_place.path);
		FW_BUF(&out, ",\"outcome\":\"created\"}");
		put_result(call, &out);
	}
	fw_ws_write_clear(&w);
	return err;
}
