/*
 * protect.c - see protect.h.
 */
#include "tools/workspace/protect.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "tools/workspace/journal.h"
#include "tools/workspace/plan_store.h"

/* Refused as any component of a path, file or directory. */
static const char *const names[] = {
	/* repositories: hooks, and configuration that names programs */
	".git",
	"git~1",
	".hg",
	".svn",
	".bzr",
	".jj",
	".husky",
	".githooks",
	/* editors and agents: tasks, settings and hooks that start programs */
	".vscode",
	".idea",
	".fleet",
	".zed",
	".devcontainer",
	".devcontainer.json",
	".cursor",
	".claude",
	".windsurf",
	".mcp.json",
	".dir-locals.el",
	".exrc",
	".vimrc",
	".nvimrc",
	".nvim.lua",
	/* read by a shell, editor or debugger that enters the directory */
	".envrc",
	".direnv",
	".gdbinit",
	".lldbinit",
	FW_WS_OWN_DIR,
};

static bool is_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return strncasecmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static bool is_protected_component(const char *at, size_t len)
{
	static const char temp[] = ".faultwire-";

	if (len >= sizeof temp - 1 && strncasecmp(at, temp, sizeof temp - 1) == 0)
		return true;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i]) == len && strncasecmp(names[i], at, len) == 0)
			return true;
	return false;
}

bool fw_ws_is_protected_name(const char *path)
{
	if (is_below(path, FW_WS_PLANS) || strncasecmp(path, "audit-log.", 10) == 0)
		return true;
	for (const char *at = path; *at;) {
		size_t len = strcspn(at, "/");

		if (is_protected_component(at, len))
			return true;
		at += len + (at[len] == '/');
	}
	return false;
}

/* `folder` ends with a slash, or is "" for the root. */
static bool has(const struct fw_root *root, const char *folder, const char *name,
		bool is_folder)
{
	char path[FW_PATH_SIZE];
	struct stat st;
	int len = snprintf(path, sizeof path, "%s%s", folder, name);

	return len > 0 && (size_t)len < sizeof path && fstatat(root->fd, path, &st, 0) == 0 &&
	       (!is_folder || S_ISDIR(st.st_mode));
}

/* Would git treat this directory as a repository once `rest` is written in it? */
static bool is_repository(const struct fw_root *root, const char *folder, const char *rest)
{
	return has(root, folder, "objects", true) && has(root, folder, "refs", true) &&
	       (strcasecmp(rest, "HEAD") == 0 || has(root, folder, "HEAD", false));
}

bool fw_ws_is_protected(const struct fw_root *root, const char *path)
{
	char folder[FW_PATH_SIZE];

	if (fw_ws_is_protected_name(path))
		return true;
	for (const char *at = path; at; at = strchr(at, '/')) {
		if (*at == '/')
			at++;
		(void)snprintf(folder, sizeof folder, "%.*s", (int)(at - path), path);
		if (is_repository(root, folder, at))
			return true;
	}
	return false;
}

bool fw_ws_is_protected_directory(const struct fw_root *root, const char *path)
{
	char folder[FW_PATH_SIZE];
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	(void)snprintf(folder, sizeof folder, "%.*s", (int)(name - path), path);
	if (fw_ws_is_protected(root, path) || strcasecmp(name, "refs") == 0)
		return true;
	return strcasecmp(name, "objects") == 0 && has(root, folder, "refs", true);
}
