/*
 * fuzz_patch.c - a patch and the file it is for, split at the first NUL.
 *
 * Properties: parsing the same text twice gives the same outcome; a refusal
 * names a line of the text; what is applied to the file twice gives the same
 * bytes; the result has as many lines more as the hunks say.
 */
#include "fuzz.h"

#include "../src/base/buf.h"
/* The toolsets are no part of the library. */
#include "../src/tools/workspace/patch_read.c"
#include "../src/tools/workspace/patch_apply.c"

static size_t count(const char *text, size_t len)
{
	size_t lines = 0;

	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	return lines + (len && text[len - 1] != '\n');
}

static void check_refusal(fw_error *err, size_t lines)
{
	fw_field field;

	MUST(fw_error_code(err) == FW_PATCH_INVALID);
	MUST(fw_error_find_field(err, "line", &field));
	MUST(field.u64 >= 1 && field.u64 <= (lines ? lines : 1));
	fw_error_free(err);
}

static void check_growth(const struct fw_ws_patch *patch, const char *old, size_t old_len,
			 const struct fw_buf *out)
{
	uint64_t removed = 0;
	uint64_t added = 0;

	for (size_t i = 0; i < patch->hunk_count; i++) {
		removed += patch->hunks[i].old_count;
		added += patch->hunks[i].new_count;
	}
	MUST(count(old, old_len) + added ==
	     count(out->text ? out->text : "", out->len) + removed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const char *split = size ? memchr(text, '\0', size) : NULL;
	size_t len = split ? (size_t)(split - text) : size;
	const char *old = split ? split + 1 : "";
	size_t old_len = split ? size - len - 1 : 0;
	struct fw_ws_patch patch;
	struct fw_ws_patch again;
	fw_error *err = fw_ws_patch_parse(text, len, &patch);
	fw_error *err_again = fw_ws_patch_parse(text, len, &again);

	MUST(fw_error_code(err) == fw_error_code(err_again));
	MUST(patch.line_count == again.line_count && patch.hunk_count == again.hunk_count);
	if (err) {
		check_refusal(err, count(text, len));
		fw_error_free(err_again);
	} else {
		struct fw_buf out;
		struct fw_buf out_again;

		fw_buf_init(&out, 1 << 22);
		fw_buf_init(&out_again, 1 << 22);
		err = fw_ws_patch_apply(&patch, "f", old, old_len, &out);
		err_again = fw_ws_patch_apply(&again, "f", old, old_len, &out_again);
		MUST(fw_error_code(err) == fw_error_code(err_again));
		MUST(!err || fw_error_code(err) == FW_PATCH_APPLY_FAILED);
		if (!err) {
			MUST(out.state == FW_BUF_OK && out.len == out_again.len);
			MUST(!out.len || memcmp(out.text, out_again.text, out.len) == 0);
			check_growth(&patch, old, old_len, &out);
		}
		fw_error_free(err);
		fw_error_free(err_again);
		fw_buf_clear(&out);
		fw_buf_clear(&out_again);
	}
	fw_ws_patch_clear(&patch);
	fw_ws_patch_clear(&again);
	return 0;
}
