/*
 * registry_file.c - see registry_file.h.
 *
 * Each invalid row is reported when it is found. The error that the library returns at
 * the end is the first of them again, so it is not reported.
 */
#include "cli/commands/registry_file.h"

#include <stdlib.h>

#include "cli/terminal/input.h"
#include "cli/terminal/report.h"

struct problems {
	const char *path;
	size_t count;
};

static void report(void *ctx, const fw_error *problem)
{
	struct problems *problems = ctx;

	problems->count++;
	cli_report(problem, problems->path, 0);
}

bool cli_registry_load(const char *path, fw_registry **ret_registry)
{
	struct problems problems = { .path = path };
	char *text;
	size_t len;
	fw_error *err;

	*ret_registry = NULL;
	if (!path)
		return true;
	err = cli_read_file(path, CLI_REGISTRY_MAX, &text, &len);
	if (err) {
		(void)cli_fail(err);
		return false;
	}
	err = fw_registry_load(text, len, report, &problems, ret_registry);
	free(text);
	if (!err)
		return true;
	if (problems.count > 0)
		fw_error_free(err);
	else
		(void)cli_fail_at(err, path, 0);
	return false;
}
