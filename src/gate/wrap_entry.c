/*
 * wrap_entry.c - see wrap_entry.h.
 *
 * The original arguments stay unchanged, after those of the gateway:
 *
 *     "command": "npx", "args": ["-y", "server"]
 *     "command": "/usr/bin/faultwire",
 *       "args": ["gate", "--wrapped", "args", "--name", "x", "--", "npx", "-y", "server"]
 *
 * A remote server becomes a program. Its `headers` member is renamed to `env`, so that
 * header values reach the gateway through its environment: arguments would be visible to
 * every user of the machine.
 *
 *     "type": "http", "url": "https://h/mcp", "headers": {"X-Team": "blue"}
 *     "type": "stdio", "command": "/usr/bin/faultwire",
 *       "args": ["gate", "--wrapped", "url http", "--name", "x",
 *                "--header-env", "X-Team", "--url", "https://h/mcp"],
 *       "env": {"X-Team": "blue"}
 *
 * Undoing removes what was inserted.
 */
#include "gate/wrap_entry.h"

#include <string.h>

#include "gate/wrap_walk.h"

void fw_wrap_copy_up_to(struct fw_wrap_edit *edit, const char *at)
{
	fw_buf_put(edit->out, edit->done, (size_t)(at - edit->done));
	edit->done = at;
}

/* Copies the text before a part, and skips that part. */
static void cut(struct fw_wrap_edit *edit, struct fw_slice part)
{
	fw_wrap_copy_up_to(edit, part.p);
	edit->done = part.p + part.n;
}

static void put(struct fw_buf *out, struct fw_slice text)
{
	fw_buf_put(out, text.p, text.n);
}

/* A member with its name; the first of that name. */
struct pair {
	struct fw_slice key;
	struct fw_slice value;
};

static struct pair find(struct fw_slice entry, const char *name)
{
	struct fw_wrap_walk walk = fw_wrap_inside(entry);
	struct pair pair;

	while (fw_wrap_next_member(&walk, &pair.key, &pair.value))
		if (fw_slice_equals(pair.key, name))
			return pair;
	return (struct pair){ { NULL, 0 }, { NULL, 0 } };
}

/* Windsurf uses another name for this member. */
static struct pair find_url(struct fw_slice entry)
{
	struct pair url = find(entry, "url");

	return url.key.p ? url : find(entry, "serverUrl");
}

/* ---- what an entry is ------------------------------------------------------------------ */

static bool is_list_of_strings(struct fw_slice array)
{
	struct fw_wrap_walk walk = fw_wrap_inside(array);
	struct fw_slice item;

	while (fw_slice_is_array(array) && fw_wrap_next_item(&walk, &item))
		if (!fw_slice_is_string(item))
			return false;
	return fw_slice_is_array(array);
}

static bool is_object_of_strings(struct fw_slice object)
{
	struct fw_wrap_walk walk = fw_wrap_inside(object);
	struct pair pair;

	while (fw_slice_is_object(object) && fw_wrap_next_member(&walk, &pair.key, &pair.value))
		if (!fw_slice_is_string(pair.value))
			return false;
	return fw_slice_is_object(object);
}

static bool is_filled(struct fw_slice container)
{
	struct fw_wrap_walk walk = fw_wrap_inside(container);

	fw_wrap_skip_blanks(&walk);
	return walk.at < walk.end;
}

const char *fw_wrap_entry_fault(struct fw_slice entry)
{
	static const char *const texts[] = { "command", "url", "serverUrl", "type" };
	static const char *const faults[] = { "command must be a string",
					      "url must be a string",
					      "serverUrl must be a string",
					      "type must be a string" };
	struct fw_slice args = fw_wrap_member(entry, "args");
	struct fw_slice headers = fw_wrap_member(entry, "headers");

	if (!fw_slice_is_object(entry))
		return "the entry must be an object";
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct fw_slice text = fw_wrap_member(entry, texts[i]);

		if (text.p && !fw_slice_is_string(text))
			return faults[i];
	}
	if (args.p && !is_list_of_strings(args))
		return "args must be an array of strings";
	if (headers.p && !is_object_of_strings(headers))
		return "headers must be an object of strings";
	return NULL;
}

bool fw_wrap_entry_is_gated(struct fw_slice entry)
{
	struct fw_slice args = fw_wrap_member(entry, "args");
	struct fw_wrap_walk walk = fw_wrap_inside(args);
	struct fw_slice first;
	char command[4096];
	size_t len = fw_slice_text(fw_wrap_member(entry, "command"), command, sizeof command);
	const char *slash;

	if (!len || len >= sizeof command)
		return false;
	slash = strrchr(command, '/');
	return strcmp(slash ? slash + 1 : command, "faultwire") == 0 && args.p &&
	       fw_wrap_next_item(&walk, &first) && fw_slice_equals(first, "gate");
}

/* ---- wrapping -------------------------------------------------------------------------- */

/* Writes the option once per member name of an object. */
static void put_names(struct fw_buf *out, const char *option, struct fw_slice object)
{
	struct fw_wrap_walk walk = fw_wrap_inside(object);
	struct pair pair;

	while (fw_slice_is_object(object) &&
	       fw_wrap_next_member(&walk, &pair.key, &pair.value)) {
		fw_buf_json_str(out, option);
		FW_BUF(out, ", ");
		put(out, pair.key);
		FW_BUF(out, ", ");
	}
}

static void put_arguments(struct fw_buf *out, struct fw_slice name, struct fw_slice command,
			  struct fw_slice args, struct fw_slice env)
{
	FW_BUF(out, "[\"gate\", \"--wrapped\", ");
	fw_buf_json_str(out, args.p ? "args" : "none");
	FW_BUF(out, ", \"--name\", ");
	put(out, name);
	FW_BUF(out, ", ");
	/* The gateway passes on the variables that the entry sets. */
	put_names(out, "--env", env);
	FW_BUF(out, "\"--\", ");
	put(out, command);
	if (args.p) {
		/* Not just "[]": an empty list may contain blanks. */
		if (is_filled(args))
			FW_BUF(out, ", ");
		fw_buf_put(out, args.p + 1, args.n - 2);
	}
	FW_BUF(out, "]");
}

static void wrap_program(struct fw_wrap_edit *edit, struct fw_slice name, struct fw_slice entry)
{
	struct fw_slice command = fw_wrap_member(entry, "command");
	struct fw_slice args = fw_wrap_member(entry, "args");
	struct fw_slice env = fw_wrap_member(entry, "env");
	bool is_first = args.p && args.p < command.p;

	if (is_first) {
		cut(edit, args);
		put_arguments(edit->out, name, command, args, env);
	}
	cut(edit, command);
	fw_buf_json_str(edit->out, edit->program);
	if (is_first)
		return;
	if (args.p)
		cut(edit, args);
	else
		FW_BUF(edit->out, ", \"args\": ");
	put_arguments(edit->out, name, command, args, env);
}

/* Why a remote server cannot be wrapped. NULL: it can be. */
static const char *url_obstacle(struct fw_slice entry)
{
	static const char *const types[] = { "http", "streamable-http", "streamableHttp",
					     "streamable_http" };
	struct fw_slice type = fw_wrap_member(entry, "type");
	char url[16] = "";
	size_t i = 0;

	while (i < sizeof types / sizeof *types && !fw_slice_equals(type, types[i]))
		i++;
	if (type.p && i == sizeof types / sizeof *types)
		return "left unchanged: the gateway does not support the transport that is "
		       "its type";
	(void)fw_slice_text(find_url(entry).value, url, sizeof url);
	/* Some clients expand a variable here. */
	if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0 &&
	    url[0] != '$')
		return "left unchanged: its URL does not begin with http:// or https://";
	if (is_filled(fw_wrap_member(entry, "headers")) && fw_wrap_member(entry, "env").p)
		return "left unchanged: it has both headers and env";
	if (fw_wrap_member(entry, "args").p)
		return "left unchanged: it has both a URL and args";
	return NULL;
}

static void put_url_arguments(struct fw_buf *out, struct fw_slice name, struct fw_slice entry)
{
	struct fw_slice type = fw_wrap_member(entry, "type");
	struct pair url = find_url(entry);

	FW_BUF(out, "[\"gate\", \"--wrapped\", ");
	/* The name of the member that has the URL, and the original type if there was
	 * one: "url http". */
	fw_buf_put(out, url.key.p, url.key.n - 1);
	if (type.p) {
		FW_BUF(out, " ");
		fw_buf_put(out, type.p + 1, type.n - 2);
	}
	FW_BUF(out, "\", \"--name\", ");
	put(out, name);
	FW_BUF(out, ", ");
	put_names(out, "--header-env", fw_wrap_member(entry, "headers"));
	FW_BUF(out, "\"--url\", ");
	put(out, url.value);
	FW_BUF(out, "]");
}

static void wrap_url(struct fw_wrap_edit *edit, struct fw_slice name, struct fw_slice entry)
{
	struct fw_slice type = fw_wrap_member(entry, "type");
	struct pair headers = find(entry, "headers");
	struct pair url = find_url(entry);
	struct fw_wrap_walk walk = fw_wrap_inside(entry);
	struct pair at;

	while (fw_wrap_next_member(&walk, &at.key, &at.value)) {
		if (at.value.p == type.p) {
			cut(edit, at.value);
			FW_BUF(edit->out, "\"stdio\"");
		} else if (at.key.p == url.key.p) {
			cut(edit, at.key);
			FW_BUF(edit->out, "\"command\"");
			cut(edit, at.value);
			fw_buf_json_str(edit->out, edit->program);
			FW_BUF(edit->out, ", \"args\": ");
			put_url_arguments(edit->out, name, entry);
		} else if (at.key.p == headers.key.p && is_filled(at.value)) {
			cut(edit, at.key);
			FW_BUF(edit->out, "\"env\"");
		}
	}
}

const char *fw_wrap_entry(struct fw_wrap_edit *edit, struct fw_slice name,
			  struct fw_slice entry)
{
	bool is_program = fw_wrap_member(entry, "command").p != NULL;
	bool is_remote = find_url(entry).key.p != NULL;
	const char *obstacle = NULL;

	if (is_program == is_remote)
		return is_program ? "left unchanged: it has both a command and a URL"
				  : "left unchanged: it has neither a command nor a URL";
	if (is_remote)
		obstacle = url_obstacle(entry);
	/* The gateway passes on only the variables that its options name. */
	else if (fw_wrap_member(entry, "envFile").p)
		obstacle = "left unchanged: the variables of its envFile would not reach it";
	if (obstacle)
		return obstacle;
	if (is_remote)
		wrap_url(edit, name, entry);
	else
		wrap_program(edit, name, entry);
	return "wrapped";
}

/* ---- undoing --------------------------------------------------------------------------- */

/* The parts of wrapped arguments. */
struct wrapped {
	struct fw_slice how;    /* what follows "--wrapped" */
	struct fw_slice target; /* the command or the URL */
	const char *rest;       /* the text after it */
	bool is_url;
	bool has_headers;
};

static bool takes_value(struct fw_slice item)
{
	static const char *const options[] = { "--wrapped", "--name", "--env", "--header-env" };

	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		if (fw_slice_equals(item, options[i]))
			return true;
	return false;
}

static bool read_wrapped(struct fw_slice args, struct wrapped *ret_wrapped)
{
	struct fw_wrap_walk walk = fw_wrap_inside(args);
	struct fw_slice item;

	*ret_wrapped = (struct wrapped){ .rest = NULL };
	while (fw_wrap_next_item(&walk, &item)) {
		ret_wrapped->is_url = fw_slice_equals(item, "--url");
		if (ret_wrapped->is_url || fw_slice_equals(item, "--")) {
			if (!fw_wrap_next_item(&walk, &ret_wrapped->target))
				return false;
			ret_wrapped->rest = walk.at;
			return ret_wrapped->how.p != NULL;
		}
		ret_wrapped->has_headers |= fw_slice_equals(item, "--header-env");
		if (fw_slice_equals(item, "--wrapped")) {
			if (!fw_wrap_next_item(&walk, &ret_wrapped->how))
				return false;
		} else if (takes_value(item) && !fw_wrap_next_item(&walk, &item)) {
			return false;
		}
	}
	return false;
}

/* True: there is only a comma between the command and the arguments. */
static bool is_adjacent(struct pair command, struct pair args)
{
	struct fw_wrap_walk walk = { command.value.p + command.value.n, args.key.p };

	if (args.key.p < command.value.p)
		return false;
	while (walk.at < walk.end && strchr(", \t\r\n", *walk.at))
		walk.at++;
	return walk.at == walk.end;
}

/* Writes the server's original arguments. */
static void put_restored(struct fw_buf *out, struct fw_slice args,
			 const struct wrapped *wrapped)
{
	const char *rest = wrapped->rest;

	if (rest[0] == ',')
		rest += rest[1] == ' ' ? 2 : 1;
	FW_BUF(out, "[");
	fw_buf_put(out, rest, (size_t)(args.p + args.n - rest));
}

static void undo_program(struct fw_wrap_edit *edit, struct pair command, struct pair args,
			 const struct wrapped *wrapped)
{
	bool is_first = args.key.p < command.key.p;

	if (is_first) {
		cut(edit, args.value);
		put_restored(edit->out, args.value, wrapped);
	}
	cut(edit, command.value);
	put(edit->out, wrapped->target);
	if (is_first)
		return;
	if (fw_slice_equals(wrapped->how, "none") && is_adjacent(command, args)) {
		edit->done =
			args.value.p + args.value.n; /* wrapping had added the member `args` */
		return;
	}
	cut(edit, args.value);
	put_restored(edit->out, args.value, wrapped);
}

static void undo_url(struct fw_wrap_edit *edit, struct fw_slice entry, struct pair command,
		     struct pair args, const struct wrapped *wrapped)
{
	const char *blank = memchr(wrapped->how.p, ' ', wrapped->how.n);
	const char *end = wrapped->how.p + wrapped->how.n;
	struct fw_slice type = fw_wrap_member(entry, "type");
	struct pair env = find(entry, "env");
	struct fw_wrap_walk walk = fw_wrap_inside(entry);
	struct pair at;

	while (fw_wrap_next_member(&walk, &at.key, &at.value)) {
		if (blank && at.value.p == type.p) {
			cut(edit, at.value);
			FW_BUF(edit->out, "\"");
			fw_buf_put(edit->out, blank + 1, (size_t)(end - blank) - 1);
		} else if (at.key.p == command.key.p) {
			cut(edit, at.key);
			fw_buf_put(edit->out, wrapped->how.p,
				   (size_t)((blank ? blank : end - 1) - wrapped->how.p));
			FW_BUF(edit->out, "\"");
			cut(edit, at.value);
			put(edit->out, wrapped->target);
			edit->done = args.value.p + args.value.n;
		} else if (wrapped->has_headers && env.key.p && at.key.p == env.key.p) {
			cut(edit, at.key);
			FW_BUF(edit->out, "\"headers\"");
		}
	}
}

const char *fw_wrap_entry_undo(struct fw_wrap_edit *edit, struct fw_slice entry)
{
	struct pair command = find(entry, "command");
	struct pair args = find(entry, "args");
	struct wrapped wrapped;

	if (!command.key.p || !args.key.p)
		return NULL;
	if (!fw_wrap_entry_is_gated(entry) || !read_wrapped(args.value, &wrapped))
		return NULL;
	if (wrapped.is_url && !is_adjacent(command, args))
		return "left unchanged: args does not follow command any more; restore it by "
		       "hand";
	if (wrapped.is_url)
		undo_url(edit, entry, command, args, &wrapped);
	else
		undo_program(edit, command, args, &wrapped);
	return "unwrapped";
}
