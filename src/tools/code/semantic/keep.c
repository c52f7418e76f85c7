/*
 * keep.c - keeping indexes up to date in the background of a server; see tools.h.
 *
 * Whether anything has changed is seen by the times of the files, which takes a fraction of a
 * second for 100,000 files; a repository that takes long is looked at less often.
 */
#include "tools/code/semantic/tools.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "store/sqlite.h"
#include "tools/code/code.h"
#include "tools/code/semantic/semantic.h"

enum { PAUSE_MS = 5000, PAUSE_FACTOR = 20, NICE = 10, REPORT_BYTES = 256 };

fw_error *fw_semantic_keep_prepare(void *ctx)
{
	const struct fw_code_set *code = ctx;

	(void)fw_digest_load();
	FW_TRY(fw_sqlite_load());
	return code->semantic.has_embedder ? fw_semantic_embedder_load() : NULL;
}

/* A failure, to standard error, which is the server's log: once, until it is another one or a
 * build has succeeded. */
static void report(const struct fw_code_repo *repo, const fw_error *err,
		   char last[REPORT_BYTES])
{
	char text[REPORT_BYTES] = "";

	if (err)
		(void)snprintf(text, sizeof text, "%s", fw_error_message(err));
	if (err && strcmp(text, last) != 0)
		(void)dprintf(STDERR_FILENO, "semantic index%s%s: not built: %s\n",
			      repo->name[0] ? " of " : "", repo->name, text);
	memcpy(last, text, sizeof text);
}

static void keep_one(const struct fw_code_set *code, const struct fw_code_repo *repo,
		     char last[REPORT_BYTES])
{
	struct fw_semantic_build build = {
		.repo = repo->path,
		.directory = repo->semantic,
		.embedder = code->semantic.has_embedder ? &code->semantic.embedder : NULL,
	};
	fw_error *err;

	/* Searches say that there is no index, or that it is old; the next round tries again. */
	err = fw_semantic_build(&build);
	if (!build.is_busy)
		report(repo, err, last);
	fw_error_free(err);
}

void fw_semantic_keep(void *ctx)
{
	static char last[FW_CODE_REPOS_MAX][REPORT_BYTES];
	const struct fw_code_set *code = ctx;

	(void)setpriority(PRIO_PROCESS, 0, NICE);
	for (;;) {
		int64_t start = fw_steady_ms(), pause;
		struct timespec time;

		for (size_t i = 0; i < code->repos.count; i++)
			if (code->repos.list[i].semantic[0])
				keep_one(code, &code->repos.list[i], last[i]);
		pause = (fw_steady_ms() - start) * PAUSE_FACTOR;
		pause = pause > PAUSE_MS ? pause : PAUSE_MS;
		time = (struct timespec){ pause / 1000, pause % 1000 * 1000000 };
		(void)nanosleep(&time, NULL);
	}
}
