/*
 * write.h - what the tools that change files share: the checks, in the order of the
 * contract, then the change itself, then the preflight command.
 *
 * The checks are: path, role, lock, plan (exists, approved, hash, scope), reservation,
 * previousHash, patch, policy. Session, role and schema were checked before the handler is called. Each
 * check is made for all files of a call before the next one.
 *
 * Reports (docs/reports/) need no plan and are not checked by policy and preflight: they
 * unlock a locked session, so a lock must not prevent them.
 *
 * The one rule to remember: fw_ws_write_begin(), fill in the items, fw_ws_write_run(),
 * fw_ws_write_clear().
 */
#ifndef FW_TOOLS_WORKSPACE_WRITE_H
#define FW_TOOLS_WORKSPACE_WRITE_H

#include "tools/workspace/changes.h"
#include "tools/workspace/data.h"
#include "tools/workspace/patch.h"

/* One file of a call. The first part is what was asked; texts are borrowed. */
struct fw_ws_item {
	char where[24]; /* of its arguments, for errors: "", "files/0/" */
	const char *given;
	size_t given_len;
	const char *content; /* NULL: none */
	size_t content_len;
	const char *diff; /* NULL: none */
	size_t diff_len;
	const char *previous; /* NULL: none */
	bool creates;
	bool deletes;
	const struct fw_ws_item *source; /* the content is that of this file; NULL: none */
	/* The rest is private to write.c. */
	char path[FW_PATH_SIZE]; /* as requested */
	struct fw_place place;   /* the resolved location */
	bool is_report;
	char *old_text; /* NULL: the file does not exist */
	size_t old_len;
	struct fw_ws_patch patch;
	struct fw_buf patched;
	char *after;      /* content after the preflight command; NULL: not read */
	const char *text; /* NULL: delete the file */
	size_t len;
};

struct fw_ws_write {
	const fw_workspace *ws;
	fw_call *call;
	struct fw_ws_item *items;
	size_t count;
	bool takes_reports;
	bool makes_directories; /* those of new files */
	const char *directory;  /* to be created; NULL: none */
	size_t directory_len;
	/* The rest is private to write.c. */
	struct fw_root root;
	struct fw_ws_session session;
	struct fw_place directory_place;
	int lock;
	size_t bytes;
	struct fw_ws_changes set;
	struct fw_buf recovered;
	/* The server was asked about reservations: the handler returns without a result and
	 * is run again. */
	bool is_waiting;
};

/* Enters the session and makes room for the items. Raises what fw_ws_session_enter()
 * raises, internal.out_of_memory. */
FW_NODISCARD fw_error *fw_ws_write_begin(struct fw_ws_write *w, const fw_workspace *ws,
					 fw_call *call, size_t count);
/* Checks and writes; then the server's thread is notified. There is a result unless
 * `is_waiting` is set. */
FW_NODISCARD fw_error *fw_ws_write_run(struct fw_ws_write *w);
/* Appends {"path","outcome","size","sha256","previousHash"}. */
void fw_ws_write_put_item(const struct fw_ws_item *item, struct fw_buf *out);
void fw_ws_write_clear(struct fw_ws_write *w);

#endif
