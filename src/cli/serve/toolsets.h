/*
 * toolsets.h - the toolsets of a server: their options on the command line, and
 * what they add to the server. It walks the descriptors of tools/toolset.h; no toolset
 * is named in src/cli.
 */
#ifndef FW_CLI_SERVE_TOOLSETS_H
#define FW_CLI_SERVE_TOOLSETS_H

#include "cli/command.h"
#include "tools/toolset.h"

enum { SERVE_PATHS_MAX = 40 };

/* A path that the confined server may use. */
struct serve_path {
	const char *path;
	bool may_write;
};

/* All zero to begin with. */
struct serve_toolsets {
	struct {
		const struct fw_toolset *toolset;
		void *instance;
	} added[FW_TOOLSETS_MAX];
	size_t count;
	const struct fw_toolset *failed; /* the one that could not be added */
	struct serve_path paths[SERVE_PATHS_MAX];
	size_t path_count;
};

/** For cli_command: the options of all toolsets, and the list of toolsets. */
const cli_option *serve_toolset_option_at(size_t index, const char **ret_toolset);
bool serve_toolset_at(size_t index, cli_entry *ret_entry);

/** The contract of the only toolset in `list`; FW_AUTO if there are several. */
fw_contract serve_toolsets_contract(const char *list);

/** Whether a toolset of the list has this contract. */
bool serve_toolsets_include(const char *list, fw_contract contract);

/* The instructions for models of the first toolset of the list that has some; NULL: none. */
const char *serve_toolsets_instructions(const char *list, const char *role);

/**
 * Adds the toolsets of `list` (names, separated by commas; NULL: the default ones).
 * `values`: of the options, in the order of serve_toolset_option_at(). `host` needs no
 * values. Raises cli.usage, and what a toolset raises.
 */
FW_NODISCARD fw_error *serve_toolsets_add(struct serve_toolsets *toolsets, const char *list,
					  const char *const *values,
					  const struct fw_toolset_host *host);

/** For fw_toolset_host: `ctx` is the struct serve_toolsets. */
void serve_toolsets_allow(struct serve_toolsets *toolsets, const char *path, bool may_write);

/** When threads may start, before the server runs. */
void serve_toolsets_start(const struct serve_toolsets *toolsets);

/** After the server has stopped, before it is freed. */
void serve_toolsets_stop(const struct serve_toolsets *toolsets);

/** What an audit record of this call should name. */
void serve_toolsets_describe(const struct serve_toolsets *toolsets, const fw_outcome *outcome,
			     fw_scope *scope);

/** After the server is freed. */
void serve_toolsets_free(struct serve_toolsets *toolsets);

#endif
