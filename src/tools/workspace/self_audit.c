/*
 * self_audit.c - what the toolset checks before the server starts; see data.h.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/digest.h"
#include "tools/workspace/data.h"
#include "tools/workspace/trusted.h"

#include <faultwire/faultwire.h>

static fw_error *failed(const char *reason, fw_error *cause)
{
	return fw_error_caused_by(fw_raise_governance_self_audit_failed(reason), cause);
}

/* Every code must have a code in the contract. */
static fw_error *audit_registry(void)
{
	size_t seen = 0;

	for (size_t i = 0;; i++) {
		const fw_row *row = fw_registry_at(NULL, i);

		if (!row)
			break;
		if (!row->kaiza || !row->kaiza_len)
			return failed("a code of the registry has no kaiza code", NULL);
		seen++;
	}
	return seen ? NULL : failed("the registry is empty", NULL);
}

static fw_error *audit_log(const fw_workspace *ws)
{
	struct fw_toolset_audit_report report = { .is_intact = true };
	char path[FW_PATH_SIZE];
	fw_error *err;
	struct stat st;

	fw_ws_trusted_log(ws, ws->directory.path, path);
	if (!ws->verify_audit || lstat(path, &st) != 0)
		return NULL;
	err = ws->verify_audit(path, &report);
	if (err)
		return failed("the audit log cannot be read", err);
	return report.is_intact ? NULL : failed(report.reason, NULL);
}

/* A key that is just being created has a second name for a moment. */
static bool has_other_names(const char *path)
{
	const struct timespec pause = { .tv_nsec = 5 * 1000 * 1000 };
	struct stat st = { .st_nlink = 1 };

	for (int i = 0; i < 40 && stat(path, &st) == 0 && st.st_nlink > 1; i++)
		(void)nanosleep(&pause, NULL);
	return st.st_nlink > 1;
}

/* Neither the key nor a link to it may be inside the workspace. */
static fw_error *audit_key(fw_workspace *ws, const char *plan_key)
{
	char path[FW_PATH_SIZE];
	char real[PATH_MAX];
	struct fw_root folder = FW_ROOT_INIT;
	fw_error *err = fw_ws_key_load(plan_key, true, &ws->key);
	char *slash;
	bool is_inside;

	if (err)
		return failed("the key for plans cannot be used", err);
	if (!fw_ws_key_path(plan_key, path, sizeof path))
		return NULL;
	if (!realpath(path, real))
		return failed("the key for plans cannot be used", NULL);
	if (has_other_names(real))
		return failed("the key for plans has several names, and tools could know one "
			      "of them",
			      NULL);
	/* The canonical directory of the key. */
	slash = strrchr(path, '/');
	if (slash)
		slash[slash == path] = '\0';
	err = fw_root_open_any(slash ? path : ".", &folder);
	if (err)
		return failed("the key for plans cannot be used", err);
	is_inside = fw_path_is_beneath(folder.path, ws->directory.path) ||
		    fw_path_is_beneath(real, ws->directory.path);
	fw_root_close(&folder);
	return is_inside ? failed("the key for plans lies inside the workspace, where tools "
				  "could read it",
				  NULL)
			 : NULL;
}

/*
 * Are digests correct? This also loads libcrypto while there is only one thread: a
 * worker that is forked later must not inherit a lock of libcrypto that another thread
 * held at that moment.
 */
static fw_error *audit_digests(void)
{
	static const char known[] =
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
	const struct fw_ws_key zero = { .is_set = true };
	char hex[FW_SHA256_TEXT];

	if (!fw_digest_load())
		return failed("there is no libcrypto to check plans with", NULL);
	fw_sha256_text("abc", 3, hex);
	if (strcmp(hex, known) != 0 || !fw_ws_key_sign(&zero, FW_WS_SIGN_PLAN, "abc", 3, hex))
		return failed("libcrypto gives wrong digests", NULL);
	return NULL;
}

fw_error *fw_ws_self_audit(fw_workspace *ws, const char *plan_key)
{
	FW_TRY(audit_digests());
	FW_TRY(audit_registry());
	FW_TRY(audit_key(ws, plan_key));
	return audit_log(ws);
}
