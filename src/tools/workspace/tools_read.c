/*
 * tools_read.c - the tools that change no file: begin_session, read_file,
 * read_audit_log; and the files as resources.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "tools/common/file.h"
#include "tools/common/reply.h"
#include "tools/workspace/clients.h"
#include "tools/workspace/journal.h"
#include "tools/workspace/trusted.h"
#include "tools/workspace/write_lock.h"

#include <faultwire/raise.h>

enum { AUDIT_LINES = 100, AUDIT_BYTES = 1024 * 1024 };

/* ---- begin_session ---- */

/* Opens the root, if this server may serve it and no session uses another one. */
static fw_error *bind(const fw_workspace *ws, const fw_call *call,
		      struct fw_ws_session *session, struct fw_root *root, bool *ret_is_new)
{
	size_t len = 0;
	const char *path = fw_call_string(call, "workspace_root", &len);

	FW_TRY(fw_root_open_in(ws->directory.path, ws->alias, path, len, root));
	root->hard_links = ws->hard_links;
	*ret_is_new = !session->id[0];
	if (session->ino &&
	    (root->dev != (dev_t)session->dev || root->ino != (ino_t)session->ino))
		return fw_raise_session_init_failed(
			"the sessions of this server are bound to another root already");
	if (faccessat(root->fd, ".", R_OK | X_OK, AT_EACCESS) != 0)
		return fw_raise_auth_insufficient_permissions(root->path);
	return NULL;
}

static fw_error *recover(const fw_workspace *ws, const struct fw_root *root,
			 struct fw_buf *list)
{
	size_t count = 0;
	fw_error *err;
	int lock;

	FW_TRY(fw_ws_write_lock(root, FW_WS_WRITE_LOCK_MS, &lock));
	err = fw_ws_journal_recover(root, ws->trusted, list, &count);
	fw_ws_write_unlock(lock);
	return err;
}

static void write_result(fw_call *call, const fw_workspace *ws,
			 const struct fw_ws_session *session, const struct fw_buf *recovered)
{
	struct fw_buf out;

	fw_buf_init(&out, 2 * (size_t)FW_WS_STATE_BYTES);
	FW_BUF(&out, "{\"session_id\":");
	fw_buf_json_str(&out, session->id);
	FW_BUF(&out, ",\"workspace_root\":");
	fw_buf_json_str(&out, session->root);
	FW_BUF(&out, ",\"role\":");
	fw_buf_json_str(&out, fw_ws_role_name(ws->role));
	FW_BUF(&out, ",\"locked_by\":");
	if (session->locked_by[0])
		fw_buf_json_str(&out, session->locked_by);
	else
		FW_BUF(&out, "null");
	FW_BUF(&out, ",\"recovered\":[");
	if (recovered->len)
		fw_buf_put(&out, recovered->text, recovered->len);
	FW_BUF(&out, "]}");
	if (out.state == FW_BUF_OK)
		fw_call_structured(call, out.text, out.len);
	fw_buf_clear(&out);
}

fw_error *fw_ws_begin_session(fw_call *call, void *ctx)
{
	const fw_workspace *ws = ctx;
	const char *role = fw_call_string(call, "role", NULL);
	struct fw_root root = FW_ROOT_INIT;
	struct fw_ws_session session;
	struct fw_buf recovered;
	bool is_new = true;
	fw_error *err;

	if (role && fw_ws_role_read(role) != ws->role)
		return fw_raise_auth_role_mismatch(fw_ws_role_name(fw_ws_role_read(role)),
						   fw_ws_role_name(ws->role));
	fw_ws_session_read(call, &session);
	fw_buf_init(&recovered, FW_WS_STATE_BYTES / 2);
	err = bind(ws, call, &session, &root, &is_new);
	if (!err)
		err = recover(ws, &root, &recovered);
	if (!err) {
		fw_ws_trusted_link(ws, &root);
		if (is_new)
			fw_ws_session_make(&root, &session);
		write_result(call, ws, &session, &recovered);
		fw_ws_notify_began(call, &session, recovered.text);
	}
	fw_buf_clear(&recovered);
	fw_root_close(&root);
	return err;
}

/* ---- read_file ---- */

static fw_error *read_text(const struct fw_root *root, const char *path, size_t len,
			   char ret_path[FW_PATH_SIZE], char **ret_text, size_t *ret_len)
{
	fw_error *err;

	FW_TRY(fw_root_normalize(root, path, len, ret_path));
	FW_TRY(fw_file_read(root, ret_path, FW_WS_READ_BYTES, ret_text, ret_len));
	if (fw_utf8_valid(*ret_text, *ret_len) == *ret_len)
		return NULL;
	err = fw_file_not_text(ret_path, *ret_text, *ret_len, 0);
	fw__release(*ret_text);
	*ret_text = NULL;
	return err;
}

fw_error *fw_ws_read_file_tool(fw_call *call, void *ctx)
{
	const fw_workspace *ws = ctx;
	size_t path_len = 0;
	const char *path = fw_call_string(call, "path", &path_len);
	struct fw_root root = FW_ROOT_INIT;
	struct fw_ws_session session;
	char clean[FW_PATH_SIZE];
	char hex[FW_SHA256_TEXT];
	char *text = NULL;
	size_t len = 0;
	struct fw_buf recovered;
	struct fw_buf out;
	fw_error *err;

	FW_TRY(fw_ws_session_enter(ctx, call, &session, &root));
	/* Content that a crashed worker wrote and no preflight command accepted must not
	 * be read. */
	fw_buf_init(&recovered, FW_WS_STATE_BYTES / 2);
	fw_ws_journal_try_recover(&root, ws->trusted, &recovered);
	if (recovered.len)
		fw_ws_notify_recovered(call, recovered.text);
	fw_buf_clear(&recovered);
	err = read_text(&root, path, path_len, clean, &text, &len);
	fw_root_close(&root);
	FW_TRY(err);
	fw_sha256_text(text, len, hex);
	fw_buf_init(&out, 8 * (size_t)FW_WS_READ_BYTES);
	FW_BUF(&out, "{\"path\":");
	fw_buf_json_str(&out, clean);
	FW_BUF(&out, ",\"content\":");
	fw_buf_json(&out, text, len);
	FW_BUF(&out, ",\"size\":");
	fw_buf_i64(&out, (int64_t)len);
	FW_BUF(&out, ",\"sha256\":");
	fw_buf_json_str(&out, hex);
	FW_BUF(&out, "}");
	fw__release(text);
	return fw_reply_structured(call, &out);
}

/* ---- resources ---- */

/* Percent-encoding is decoded before the path is checked, so "%2e%2e" is refused. */
static size_t decode(const char *from, char *to, size_t size)
{
	size_t len = 0;

	for (; *from && len + 1 < size; from++) {
		int high = *from == '%' ? fw_hex_value(from[1]) : -1;
		int low = high >= 0 ? fw_hex_value(from[2]) : -1;

		if (low >= 0) {
			to[len++] = (char)(high * 16 + low);
			from += 2;
		} else {
			to[len++] = *from;
		}
	}
	to[len] = '\0';
	return len;
}

/* workspace:///PATH */
fw_error *fw_ws_read_resource(fw_call *call, void *ctx)
{
	static const char scheme[] = "workspace:///";
	fw_workspace *ws = ctx;
	const char *uri = fw_call_name(call);
	struct fw_root root = FW_ROOT_INIT;
	struct fw_ws_session session;
	char path[FW_PATH_SIZE + 8];
	char clean[FW_PATH_SIZE];
	char *text = NULL;
	size_t len = 0;
	size_t path_len;
	fw_error *err;

	if (strncmp(uri, scheme, sizeof scheme - 1) != 0)
		return fw_raise_protocol_resource_not_found(uri);
	path_len = decode(uri + sizeof scheme - 1, path, sizeof path);
	fw_ws_client_read_session(ws, call, &session);
	FW_TRY(fw_ws_session_open_root(ws, &session, uri, &root));
	err = read_text(&root, path, path_len, clean, &text, &len);
	fw_root_close(&root);
	FW_TRY(err);
	fw_call_resource_text(call, uri, "text/plain", text);
	fw__release(text);
	return NULL;
}

/* ---- read_audit_log ---- */

/* The last `limit` lines of a text. */
static const char *tail(const char *text, size_t len, int64_t limit)
{
	const char *at = text + len;

	if (at > text && at[-1] == '\n')
		at--;
	while (at > text) {
		if (at[-1] == '\n' && --limit <= 0)
			break;
		at--;
	}
	return at;
}

/* Opens the log where the server writes it, which may be outside of the workspace. */
static fw_error *open_log(const fw_workspace *ws, const struct fw_root *root, int *ret_fd,
			  struct stat *ret_stat)
{
	char path[FW_PATH_SIZE];
	int fd;

	fw_ws_trusted_log(ws, root->path, path);
	if (!ws->trusted || !fw_path_is_beneath(path, ws->trusted))
		return fw_file_open(root, FW_WS_AUDIT_LOG, ret_fd, ret_stat);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0 && fstat(fd, ret_stat) == 0) {
		*ret_fd = fd;
		return NULL;
	}
	if (fd >= 0)
		(void)close(fd);
	return fw_raise_file_read_failed(FW_WS_AUDIT_LOG, "it could not be opened");
}

fw_error *fw_ws_read_audit_log(fw_call *call, void *ctx)
{
	int64_t limit = fw_call_i64(call, "limit", AUDIT_LINES);
	struct fw_root root = FW_ROOT_INIT;
	struct fw_ws_session session;
	struct stat st;
	char *text = NULL;
	size_t len = 0;
	int fd;
	fw_error *err;

	FW_TRY(fw_ws_session_enter(ctx, call, &session, &root));
	err = open_log(ctx, &root, &fd, &st);
	fw_root_close(&root);
	FW_TRY(err);
	/* Only the end of a long log is read. */
	if (st.st_size > AUDIT_BYTES)
		(void)lseek(fd, st.st_size - AUDIT_BYTES, SEEK_SET);
	text = fw__allocate(AUDIT_BYTES + 1);
	if (!text) {
		(void)close(fd);
		return fw_raise_internal_out_of_memory();
	}
	while (len < AUDIT_BYTES) {
		ssize_t got = read(fd, text + len, AUDIT_BYTES - len);

		if (got <= 0)
			break;
		len += (size_t)got;
	}
	(void)close(fd);
	text[len] = '\0';
	if (limit > 0 && len) {
		const char *from = tail(text, len, limit);

		/* The first line may be incomplete; skip it. */
		if (from == text && st.st_size > AUDIT_BYTES && strchr(from, '\n'))
			from = strchr(from, '\n') + 1;
		fw_call_text(call, from);
	} else {
		fw_call_text(call, "");
	}
	fw__release(text);
	return NULL;
}
