/*
 * wrap.c - the command wrap: puts the gateway in front of the servers of a client.
 */
#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <faultwire/faultwire.h>
#include <faultwire/raise.h>
#include <faultwire/raw.h>

#include "base/buf.h"
#include "cli/terminal/output.h"
#include "cli/terminal/report.h"
#include "gate/wrap.h"

enum { FILE_BYTES = 4 * 1024 * 1024, PATH_SIZE = 4096 };
enum { UNDO, DRY_RUN, OPTION_COUNT };

static const cli_option options[OPTION_COUNT] = {
	[UNDO] = { "undo", NULL, 0, CLI_NOTHING, "Restore the servers, to the byte." },
	[DRY_RUN] = { "dry-run", NULL, 'n', CLI_NOTHING,
		      "Print the new text of the file and change nothing." },
};

static const cli_example examples[] = {
	{ "Show what would change:", "faultwire wrap --dry-run ~/.cursor/mcp.json" },
	{ "Take it back:", "faultwire wrap --undo ~/.cursor/mcp.json" },
	{ NULL, NULL },
};

static void report(void *ctx, const char *server, const char *what)
{
	*(size_t *)ctx += 1;
	cli_remark("%s: %s", server, what);
}

static fw_error *fail(const char *path, int errnum)
{
	return fw_error_wrap(fw_error_from_errno(FW_HERE, errnum, path), FW_HERE,
			     "could not write %s", path);
}

/* With the owner, if that is possible, and the mode of the file that it replaces. */
static fw_error *write_text(const char *path, const char *text, size_t len,
			    const struct stat *status)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int errnum = errno;
	size_t done = 0;

	if (fd < 0)
		return fail(path, errnum);
	while (done < len) {
		ssize_t written = write(fd, text + done, len - done);

		if (written < 0) {
			errnum = errno;
			(void)close(fd);
			return fail(path, errnum);
		}
		done += (size_t)written;
	}
	(void)!fchown(fd, status->st_uid, status->st_gid);
	if (fchmod(fd, status->st_mode & 0777) != 0 || fsync(fd) != 0 || close(fd) != 0)
		return fail(path, errno);
	return NULL;
}

static void count_server(void *ctx, const char *server, const char *what)
{
	(void)server;
	(void)what;
	*(size_t *)ctx += 1;
}

/* Whether there is something to undo. */
static bool is_wrapped(const char *text, size_t len, const char *path)
{
	struct fw_buf out;
	size_t count = 0;

	fw_buf_init(&out, 4 * (size_t)FILE_BYTES);
	fw_error_free(fw_wrap(text, len, path, "", true, &out, count_server, &count));
	fw_buf_clear(&out);
	return count > 0;
}

/* A text in which no server is wrapped yet is kept beside the file. A symbolic link stays;
 * `path` is the file that it names. */
static fw_error *replace(const char *path, const char *old, size_t old_len,
			 const struct fw_buf *text, bool is_undone)
{
	char backup[PATH_SIZE];
	char fresh[PATH_SIZE];
	struct stat status;

	if (strlen(path) > PATH_SIZE - 32)
		return cli_usage("the path of the file is too long");
	if (stat(path, &status) != 0)
		return fail(path, errno);
	(void)snprintf(backup, sizeof backup, "%s.before-faultwire", path);
	(void)snprintf(fresh, sizeof fresh, "%s.faultwire-new", path);
	if (!is_undone && (access(backup, F_OK) != 0 || !is_wrapped(old, old_len, path)))
		FW_TRY(write_text(backup, old, old_len, &status));
	FW_TRY(write_text(fresh, text->text, text->len, &status));
	if (rename(fresh, path) != 0)
		return fail(path, errno);
	return NULL;
}

/* Every byte, also the last newline. The caller frees the text. */
static fw_error *read_bytes(const char *path, char **ret_text, size_t *ret_len)
{
	FILE *file = fopen(path, "re");
	int errnum = errno;
	char *text;
	size_t len;

	if (!file)
		return fw_error_from_errno(FW_HERE, errnum, path);
	text = malloc(FILE_BYTES + 1);
	len = text ? fread(text, 1, FILE_BYTES + 1, file) : 0;
	(void)fclose(file);
	if (!text)
		return fw_raise_internal_out_of_memory();
	if (len > FILE_BYTES) {
		free(text);
		return fw_raise_input_too_large("configuration", FILE_BYTES);
	}
	*ret_text = text;
	*ret_len = len;
	return NULL;
}

static fw_error *wrap(const cli_args *args)
{
	const char *path = args->operand_count ? args->operands[0] : NULL;
	bool is_undone = cli_given(args, UNDO);
	char program[PATH_SIZE];
	char target[PATH_MAX];
	size_t count = 0;
	ssize_t len = readlink("/proc/self/exe", program, sizeof program - 1);
	struct fw_buf out;
	char *text = NULL;
	size_t text_len = 0;
	fw_error *err;

	if (args->operand_count != 1)
		return cli_usage("wrap takes one file, the configuration of a client");
	if (len < 0)
		return fail("/proc/self/exe", errno);
	program[len] = '\0';
	FW_TRY(read_bytes(path, &text, &text_len));
	fw_buf_init(&out, 4 * (size_t)FILE_BYTES);
	err = fw_wrap(text, text_len, path, program, is_undone, &out, report, &count);
	if (!err && !count)
		cli_remark(is_undone ? "%s: no server is wrapped" : "%s: it has no MCP servers",
			   path);
	if (!err && cli_given(args, DRY_RUN))
		cli_put(out.text, out.len);
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): read_bytes() has set it */
	else if (!err && (out.len != text_len || memcmp(out.text, text, text_len) != 0))
		err = realpath(path, target) ? replace(target, text, text_len, &out, is_undone)
					     : fail(path, errno);
	free(text);
	fw_buf_clear(&out);
	return err;
}

static int run(const cli_args *args)
{
	fw_error *err = wrap(args);

	return err ? cli_fail(err) : CLI_DONE;
}

const cli_command cli_command_wrap = {
	.name = "wrap",
	.summary = "start the servers of a client through the gateway",
	.synopsis = "[--undo] [--dry-run] FILE",
	.description =
		"Rewrites a client's configuration (mcpServers, servers, and mcpServers of "
		"each of the projects) so that each program in it is started as faultwire "
		"gate -- COMMAND, and each remote server as faultwire gate --url URL; its "
		"headers become the variables of the gateway (--header-env). Comments, order "
		"and layout stay; the old file is kept as FILE.before-faultwire. A symbolic "
		"link stays, and the file that it names is rewritten. Wrapping twice changes "
		"nothing, and --undo restores the text to the byte. Servers of type sse are "
		"left unchanged. The gateway does not log in with OAuth.",
	.options = options,
	.option_count = OPTION_COUNT,
	.operands = CLI_FILE,
	.examples = examples,
	.run = run,
};
