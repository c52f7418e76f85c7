/*
 * toolset.h - a toolset: tools that `faultwire serve --tools NAME` offers together.
 *
 * A toolset is one folder. Its meson.build defines the dependency toolset_NAME, and
 * one of its sources defines the constant fw_toolset_NAME, its descriptor. One line in
 * the list of toolsets of the top meson.build adds it to the program; `serve`, the
 * help, the man page and the shell completion read the rest from the descriptor.
 * examples/toolset/ is a complete one.
 *
 * The one rule to remember: a toolset declares its own options, and receives their
 * values in the order in which it declares them.
 */
#ifndef FW_TOOLS_TOOLSET_H
#define FW_TOOLS_TOOLSET_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <faultwire/faultwire.h>

/* ---- files embedded by the build --------------------------------------------- */

/* A JSON file of the toolset, without insignificant white space. */
struct fw_toolset_file {
	const char *name; /* without ".json"; NULL ends the array */
	const char *text;
};

static inline const char *fw_toolset_schema(const struct fw_toolset_file *files,
					    const char *tool, const char *suffix)
{
	size_t len = strlen(tool);

	for (; files->name; files++)
		if (strncmp(files->name, tool, len) == 0 &&
		    strcmp(files->name + len, suffix) == 0)
			return files->text;
	return NULL;
}

/* The text of NAME.input.json for the tool NAME; NULL if there is no such file. */
static inline const char *fw_toolset_input_schema(const struct fw_toolset_file *files,
						  const char *tool)
{
	return fw_toolset_schema(files, tool, ".input");
}

/* The same for NAME.output.json. */
static inline const char *fw_toolset_output_schema(const struct fw_toolset_file *files,
						   const char *tool)
{
	return fw_toolset_schema(files, tool, ".output");
}

/* ---- options ------------------------------------------------------------------- */

enum fw_toolset_values {
	FW_TOOLSET_FLAG, /* takes no value */
	FW_TOOLSET_TEXT,
	FW_TOOLSET_PATH,  /* a file or a directory */
	FW_TOOLSET_PATHS, /* the same; the option may be repeated */
	FW_TOOLSET_WORD   /* one of `words` */
};

/* An option of `faultwire serve`. Names must be unique among all its options. */
struct fw_toolset_option {
	const char *name;     /* without the dashes */
	const char *argument; /* as shown in the help: "DIR"; NULL for a flag */
	char short_name;      /* 0: none */
	enum fw_toolset_values values;
	const char *const *words; /* ends with NULL; NULL unless FW_TOOLSET_WORD */
	const char *help;         /* sentences */
	/* Name of another toolset that reads it (fw_toolset_host.value_of); NULL: none. The
	 * option is refused if neither is served. */
	const char *also;
};

/* ---- what the program provides -------------------------------------------------- */

/* The result of checking an audit log. */
struct fw_toolset_audit_report {
	bool is_intact;
	unsigned long long records;
	char reason[320]; /* if it is not intact */
};

struct fw_loop;

/* Copy it to keep it; what its pointers refer to stays until the server is freed. */
struct fw_toolset_host {
	fw_server *server;
	/* One per option of the descriptor; NULL: not given; "" for a flag. Checked
	 * already if the option is a word. */
	const char *const *values;
	/* Value `index` of an option that may be repeated; NULL past the end. */
	const char *(*value_at)(const struct fw_toolset_host *host, size_t option,
				size_t index);
	const void *arguments; /* of value_at() */
	size_t first_option;   /* of value_at() */
	/* The value of an option of any toolset, by name; NULL: not given. */
	const char *(*value_of)(const struct fw_toolset_host *host, const char *option);
	const char *role;     /* --role; NULL: not given */
	const char *state;    /* the state directory; NULL: there is none */
	struct fw_loop *loop; /* of the server */
	const char *store;    /* URL of the store (--store); NULL: there is none */
	void **reservations;  /* what toolsets share of them (reserve/reserve.h) */
	/* How tools should run. `workers` are shared by toolsets that need to reach
	 * no files, and NULL unless `run` is FW_RUN_PROCESS. */
	fw_run run;
	bool is_run_chosen; /* by --run */
	fw_workers *workers;
	fw_workers_options isolation; /* for workers of its own: count and sandbox */
	/*
	 * Permits the confined server to read a path or, with `may_write`, to change
	 * what is below it. The path is kept, not copied.
	 */
	void (*allow)(void *ctx, const char *path, bool may_write);
	/*
	 * The audit log. `move_audit` continues it in another file: the name `log` in
	 * the directory `dir`, or the path `log` if dir is -1, or where it began if log
	 * is NULL. It is NULL if --audit chose the file. `note_audit` adds a record.
	 * Both run on the server's thread. `verify_audit` may run in a worker.
	 */
	void (*move_audit)(void *ctx, int dir, const char *log);
	void (*note_audit)(void *ctx, const fw_scope *scope, const char *text);
	fw_error *(*verify_audit)(const char *path, struct fw_toolset_audit_report *ret_report);
	void *ctx; /* the first argument of the functions above */
};

/* ---- the descriptor --------------------------------------------------------------- */

struct fw_toolset {
	const char *name;
	const char *summary; /* for lists: no capital, no period */
	/* The contract for errors of a server that has no other toolset; FW_AUTO:
	 * canonical. */
	fw_contract contract;
	const struct fw_toolset_option *options;
	size_t option_count;
	/* Whether it is served if --tools is not given; NULL: no. */
	bool (*is_default)(const char *const *values);
	/* Adds the tools. `ret_instance` is for the two functions below and may be left
	 * NULL. */
	fw_error *(*add)(const struct fw_toolset_host *host, void **ret_instance);
	/* When the server is confined, before it reads its first byte: may start threads.
	 * NULL: nothing to start. */
	void (*start)(void *instance);
	/* Fills in what an audit record of this call should name. NULL: nothing. */
	void (*describe)(void *instance, const fw_outcome *outcome, fw_scope *scope);
	/* What the server tells models about these tools; `role` is --role and may be NULL.
	 * NULL: nothing. */
	const char *(*instructions)(const char *role);
	/* After the server has stopped, before it is freed: ends threads. NULL: nothing to
	 * end. */
	void (*stop)(void *instance);
	/* After the server is freed. NULL: nothing to free. */
	void (*free)(void *instance);
};

enum { FW_TOOLSETS_MAX = 16 };

/* Every toolset of this program, in the order of meson.build; ends with NULL. */
extern const struct fw_toolset *const fw_toolsets[];

#endif
