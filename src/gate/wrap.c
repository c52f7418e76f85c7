/*
 * wrap.c - see wrap.h.
 *
 * The file is edited as text, because a parser that writes it again would lose comments
 * and layout. It has been read as JSON before, so the walk here only has to find where
 * values begin and end. The arguments that a server had stay as they were, behind those
 * of the gateway:
 *
 *     "command": "npx", "args": ["-y", "server"]
 *     "command": "/usr/bin/faultwire",
 *       "args": ["gate", "--wrapped", "args", "--name", "x", "--", "npx", "-y", "server"]
 *
 * Undoing cuts out what was put in.
 */
#include "gate/wrap.h"

#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "gate/config.h"
#include "rpc/scan.h"

/* What follows "--wrapped": whether the server had a list of arguments. */
#define HAD_ARGS "\"args\""
#define HAD_NONE "\"none\""
#define MARK "\"gate\", \"--wrapped\", "

struct walk {
	const char *at;
	const char *end;
};

static void skip_blanks(struct walk *walk)
{
	for (;;) {
		while (walk->at < walk->end && strchr(" \t\r\n", *walk->at) && *walk->at)
			walk->at++;
		if (walk->end - walk->at < 2 || walk->at[0] != '/')
			return;
		if (walk->at[1] == '/') {
			while (walk->at < walk->end && *walk->at != '\n')
				walk->at++;
		} else if (walk->at[1] == '*') {
			const char *close = memmem(walk->at + 2,
						   (size_t)(walk->end - walk->at) - 2, "*/", 2);

			walk->at = close ? close + 2 : walk->end;
		} else {
			return;
		}
	}
}

static void skip_string(struct walk *walk)
{
	walk->at++;
	while (walk->at < walk->end && *walk->at != '"')
		walk->at += *walk->at == '\\' && walk->end - walk->at > 1 ? 2 : 1;
	if (walk->at < walk->end)
		walk->at++;
}

/* A whole value. Brackets match, because the text was read as JSON. */
static struct fw_slice skip_value(struct walk *walk)
{
	size_t depth = 0;
	struct fw_slice value;

	skip_blanks(walk);
	value.p = walk->at;
	do {
		skip_blanks(walk);
		if (walk->at >= walk->end)
			break;
		if (*walk->at == '"') {
			skip_string(walk);
		} else if (*walk->at == '{' || *walk->at == '[') {
			depth++;
			walk->at++;
		} else if (*walk->at == '}' || *walk->at == ']') {
			depth--;
			walk->at++;
		} else if (depth) {
			walk->at++;
		} else {
			while (walk->at < walk->end && !strchr(",]} \t\r\n/", *walk->at))
				walk->at++;
		}
	} while (depth);
	value.n = (size_t)(walk->at - value.p);
	return value;
}

/* The next member of the object that `walk` is inside of. */
static bool next_member(struct walk *walk, struct fw_slice *ret_key, struct fw_slice *ret_value)
{
	skip_blanks(walk);
	if (walk->at < walk->end && *walk->at == ',')
		walk->at++;
	skip_blanks(walk);
	if (walk->at >= walk->end || *walk->at != '"')
		return false;
	ret_key->p = walk->at;
	skip_string(walk);
	ret_key->n = (size_t)(walk->at - ret_key->p);
	skip_blanks(walk);
	walk->at++; /* the colon */
	*ret_value = skip_value(walk);
	return true;
}

static struct walk inside(struct fw_slice object)
{
	return (struct walk){ object.p + 1, object.p + object.n - 1 };
}

static struct fw_slice member(struct fw_slice object, const char *name)
{
	struct walk walk = inside(object);
	struct fw_slice key;
	struct fw_slice value;

	if (!fw_slice_is_object(object))
		return (struct fw_slice){ NULL, 0 };
	while (next_member(&walk, &key, &value))
		if (fw_slice_equals(key, name))
			return value;
	return (struct fw_slice){ NULL, 0 };
}

/* ---- one server ------------------------------------------------------------------- */

struct editing {
	struct fw_buf *out;
	const char *done; /* up to here the text was copied */
	const char *program;
	fw_wrap_fn *report;
	void *ctx;
};

static void copy_up_to(struct editing *editing, const char *at)
{
	fw_buf_put(editing->out, editing->done, (size_t)(at - editing->done));
	editing->done = at;
}

static bool is_wrapped(struct fw_slice args)
{
	return fw_slice_is_array(args) && args.n > sizeof MARK &&
	       memcmp(args.p + 1, MARK, sizeof MARK - 1) == 0;
}

/* Variables that the entry sets are passed on by name. */
static void put_environment(struct fw_buf *out, struct fw_slice env)
{
	struct walk walk = inside(env);
	struct fw_slice key;
	struct fw_slice value;

	while (fw_slice_is_object(env) && next_member(&walk, &key, &value)) {
		FW_BUF(out, "\"--env\", ");
		fw_buf_put(out, key.p, key.n);
		FW_BUF(out, ", ");
	}
}

static void put_arguments(struct fw_buf *out, struct fw_slice name, struct fw_slice command,
			  struct fw_slice args, struct fw_slice env)
{
	struct walk walk = inside(args);

	FW_BUF(out, "[" MARK);
	fw_buf_str(out, args.p ? HAD_ARGS : HAD_NONE);
	FW_BUF(out, ", \"--name\", ");
	fw_buf_put(out, name.p, name.n);
	FW_BUF(out, ", ");
	put_environment(out, env);
	FW_BUF(out, "\"--\", ");
	fw_buf_put(out, command.p, command.n);
	if (args.p) {
		skip_blanks(&walk);
		/* An empty list may have blanks in it. */
		if (walk.at < walk.end)
			FW_BUF(out, ", ");
		fw_buf_put(out, args.p + 1, args.n - 2);
	}
	FW_BUF(out, "]");
}

static void wrap_server(struct editing *editing, struct fw_slice name, struct fw_slice server)
{
	struct fw_slice command = member(server, "command");
	struct fw_slice args = member(server, "args");
	struct fw_slice env = member(server, "env");
	bool is_first = args.p && args.p < command.p;

	if (is_first) {
		copy_up_to(editing, args.p);
		put_arguments(editing->out, name, command, args, env);
		editing->done = args.p + args.n;
	}
	copy_up_to(editing, command.p);
	fw_buf_json_str(editing->out, editing->program);
	editing->done = command.p + command.n;
	if (is_first)
		return;
	if (args.p)
		copy_up_to(editing, args.p);
	else
		FW_BUF(editing->out, ", \"args\": ");
	put_arguments(editing->out, name, command, args, env);
	if (args.p)
		editing->done = args.p + args.n;
}

/* The parts of wrapped arguments. */
struct wrapped {
	struct fw_slice command;
	const char *rest; /* behind it */
	bool had_args;
};

static bool read_wrapped(struct fw_slice args, struct wrapped *ret_wrapped)
{
	struct walk walk = inside(args);

	ret_wrapped->had_args =
		memcmp(args.p + sizeof MARK, HAD_ARGS, sizeof HAD_ARGS - 1) == 0;
	while (walk.at < walk.end) {
		struct fw_slice item = skip_value(&walk);

		skip_blanks(&walk);
		if (walk.at >= walk.end || *walk.at != ',')
			return false;
		walk.at++;
		if (fw_slice_is(item, "\"--\""))
			break;
	}
	ret_wrapped->command = skip_value(&walk);
	ret_wrapped->rest = walk.at;
	return fw_slice_is_string(ret_wrapped->command);
}

static void put_restored(struct fw_buf *out, struct fw_slice args,
			 const struct wrapped *wrapped)
{
	const char *rest = wrapped->rest;

	if (rest[0] == ',' && rest[1] == ' ')
		rest += 2;
	FW_BUF(out, "[");
	fw_buf_put(out, rest, (size_t)(args.p + args.n - rest));
}

static bool unwrap_server(struct editing *editing, struct fw_slice server)
{
	static const char added[] = ", \"args\": ";
	struct fw_slice command = member(server, "command");
	struct fw_slice args = member(server, "args");
	struct wrapped wrapped;
	bool is_first = args.p < command.p;

	if (!read_wrapped(args, &wrapped))
		return false;
	if (is_first) {
		copy_up_to(editing, args.p);
		put_restored(editing->out, args, &wrapped);
		editing->done = args.p + args.n;
	}
	copy_up_to(editing, command.p);
	fw_buf_put(editing->out, wrapped.command.p, wrapped.command.n);
	editing->done = command.p + command.n;
	if (is_first)
		return true;
	if (wrapped.had_args) {
		copy_up_to(editing, args.p);
		put_restored(editing->out, args, &wrapped);
	} else if (args.p - editing->done == sizeof added - 1) {
		editing->done = args.p; /* the member was put in behind the command */
	}
	editing->done = args.p + args.n;
	return true;
}

/* ---- all of them -------------------------------------------------------------------- */

static void edit_server(struct editing *editing, struct fw_slice name, struct fw_slice server,
			bool is_undone)
{
	struct fw_slice args = member(server, "args");
	const char *what;
	char text[128];

	(void)fw_slice_text(name, text, sizeof text);
	if (!fw_slice_is_string(member(server, "command"))) {
		what = is_undone ? NULL : "left unchanged: it is not a program";
	} else if (is_wrapped(args) == !is_undone) {
		what = is_undone ? NULL : "is wrapped already";
	} else if (!is_undone) {
		wrap_server(editing, name, server);
		what = "wrapped";
	} else {
		what = unwrap_server(editing, server) ? "unwrapped" : NULL;
	}
	if (what)
		editing->report(editing->ctx, text, what);
}

fw_error *fw_wrap(const char *text, size_t len, const char *where, const char *program,
		  bool is_undone, struct fw_buf *out, fw_wrap_fn *report, void *ctx)
{
	struct editing editing = {
		.out = out, .done = text, .program = program, .report = report, .ctx = ctx
	};
	struct fw_gate_config *config;
	struct walk walk = { text, text + len };
	struct fw_slice root;
	struct fw_slice servers;
	struct fw_slice key;
	struct fw_slice value;

	/* The walk relies on valid JSON with entries of the known form. */
	FW_TRY(fw_gate_config_read(text, len, where, &config));
	fw_gate_config_free(config);
	root = skip_value(&walk);
	servers = member(root, "mcpServers");
	if (!servers.p)
		servers = member(root, "servers");
	walk = inside(servers);
	while (next_member(&walk, &key, &value))
		edit_server(&editing, key, value, is_undone);
	copy_up_to(&editing, text + len);
	return out->state == FW_BUF_OK ? NULL : fw_raise_internal_out_of_memory();
}
