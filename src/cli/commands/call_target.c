/*
 * call_target.c - see call_target.h.
 *
 * A command is split into words as a shell does, but no shell runs: there are quotes and
 * backslashes, and nothing is expanded.
 */
#include "cli/commands/call_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/terminal/input.h"
#include "cli/terminal/report.h"
#include "gate/config.h"

static fw_error *add(struct call_words *list, char *word)
{
	if (!word)
		return fw_raise_internal_out_of_memory();
	if (list->count == CALL_WORDS_MAX) {
		free(word);
		return cli_usage("there are more than %d words, headers or variables",
				 CALL_WORDS_MAX);
	}
	list->words[list->count++] = word;
	return NULL;
}

static void clear(struct call_words *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->words[i]);
	*list = (struct call_words){ .count = 0 };
}

void cli_call_target_clear(struct call_target *target)
{
	free(target->name);
	free(target->url);
	free(target->directory);
	clear(&target->command);
	clear(&target->headers);
	clear(&target->environment);
}

fw_error *cli_call_target_header(struct call_target *target, const char *line)
{
	const char *colon = strchr(line, ':');

	if (!colon || colon == line || strpbrk(line, "\r\n"))
		return cli_usage("--header must be \"Name: value\"; found \"%s\"", line);
	return add(&target->headers, strdup(line));
}

fw_error *cli_call_target_variable(struct call_target *target, const char *variable)
{
	size_t name = strcspn(variable, "=");
	bool is_first = target->environment.count == 0;

	/* The first one is added to the environment of this process. */
	for (char **at = environ; is_first && at && *at; at++)
		if (strncmp(*at, variable, name + 1) != 0 &&
		    target->environment.count < CALL_WORDS_MAX - 32)
			FW_TRY(add(&target->environment, strdup(*at)));
	return add(&target->environment, strdup(variable));
}

/* ---- a command --------------------------------------------------------------------- */

/* The next word, which the caller frees; NULL at the end. */
static char *next_word(const char **at, bool *ret_is_open)
{
	const char *p = *at + strspn(*at, " \t\n");
	char *word = malloc(strlen(p) + 1), quote = '\0';
	size_t len = 0;

	if (!word || !*p) {
		free(word);
		return NULL;
	}
	for (; *p && (quote || !strchr(" \t\n", *p)); p++) {
		if (*p == quote)
			quote = '\0';
		else if (!quote && (*p == '\'' || *p == '"'))
			quote = *p;
		else if (*p == '\\' && quote != '\'' && p[1])
			word[len++] = *++p;
		else
			word[len++] = *p;
	}
	word[len] = '\0';
	*ret_is_open = quote != '\0';
	*at = p;
	return word;
}

static fw_error *read_command(const char *text, struct call_target *target)
{
	const char *slash;
	bool is_open = false;
	char *word;

	while ((word = next_word(&text, &is_open)))
		FW_TRY(add(&target->command, word));
	if (is_open)
		return cli_usage("a quote of the command is not closed");
	if (target->command.count == 0)
		return cli_usage("TARGET is empty");
	slash = strrchr(target->command.words[0], '/');
	target->name = strdup(slash ? slash + 1 : target->command.words[0]);
	return NULL;
}

/* ---- a configuration file ------------------------------------------------------------- */

/* Each member of an object of strings, as one line. */
static fw_error *add_pairs(struct call_target *target, yyjson_val *object, const char *between,
			   fw_error *(*use)(struct call_target *target, const char *line))
{
	yyjson_val *key, *value;
	size_t index, max;

	yyjson_obj_foreach(fw_json_or_empty(object), index, max, key, value)
	{
		const char *text = yyjson_is_str(value) ? yyjson_get_str(value) : "";
		size_t size = yyjson_get_len(key) + strlen(between) + strlen(text) + 1;
		char *line = malloc(size);
		fw_error *err;

		if (!line)
			return fw_raise_internal_out_of_memory();
		(void)snprintf(line, size, "%s%s%s", yyjson_get_str(key), between, text);
		err = use(target, line);
		free(line);
		if (err)
			return err;
	}
	return NULL;
}

static fw_error *read_server(yyjson_val *server, struct call_target *target)
{
	const char *command = yyjson_get_str(fw_json_member(server, "command"));
	const char *url = yyjson_get_str(fw_json_member(server, "url"));
	const char *cwd = yyjson_get_str(fw_json_member(server, "cwd"));
	yyjson_val *value;
	size_t index, max;

	/* Windsurf has a name of its own. */
	if (!url)
		url = yyjson_get_str(fw_json_member(server, "serverUrl"));
	if (!command && !url)
		return cli_usage("server \"%s\" has neither a command nor a url", target->name);
	if (!command)
		target->url = strdup(url);
	else
		FW_TRY(add(&target->command, strdup(command)));
	yyjson_arr_foreach(fw_json_member(server, "args"), index, max, value)
	{
		const char *word = yyjson_is_str(value) ? yyjson_get_str(value) : NULL;

		if (command && word)
			FW_TRY(add(&target->command, strdup(word)));
	}
	if (cwd) {
		target->directory = strdup(cwd);
		if (!target->directory)
			return fw_raise_internal_out_of_memory();
	}
	FW_TRY(add_pairs(target, fw_json_member(server, "env"), "=", cli_call_target_variable));
	return add_pairs(target, fw_json_member(server, "headers"), ": ",
			 cli_call_target_header);
}

static fw_error *no_server(const char *path, const char *name, yyjson_val *servers)
{
	char names[512] = "";
	yyjson_val *key, *value;
	size_t index, max, len = 0;

	yyjson_obj_foreach(fw_json_or_empty(servers), index, max, key,
			   value) if (len < sizeof names) len +=
		(size_t)snprintf(names + len, sizeof names - len, "%s%s", len ? ", " : "",
				 yyjson_get_str(key));
	if (!len)
		return cli_usage("%s has no mcpServers", path);
	if (name)
		return cli_usage("%s has no server \"%s\"; it has: %s", path, name, names);
	return cli_usage("%s has several servers, write %s#NAME; it has: %s", path, path,
			 names);
}

static fw_error *read_config(const char *path, const char *name, struct call_target *target)
{
	char *text = NULL;
	const char *json;
	size_t len = 0;
	yyjson_doc *doc;
	yyjson_val *servers, *server;
	fw_error *err;

	FW_TRY(cli_read_file(path, CLI_REGISTRY_MAX, &text, &len));
	json = text;
	fw_utf8_skip_mark(&json, &len);
	doc = fw_json_read(json, len, (struct fw_json_limits){ CLI_REGISTRY_MAX, 64 },
			   YYJSON_READ_ALLOW_COMMENTS | YYJSON_READ_ALLOW_TRAILING_COMMAS, NULL,
			   NULL);
	servers = fw_gate_config_servers(yyjson_doc_get_root(doc));
	if (!name && yyjson_obj_size(servers) == 1) {
		yyjson_obj_iter iter = yyjson_obj_iter_with(servers);

		name = yyjson_get_str(yyjson_obj_iter_next(&iter));
	}
	server = name ? fw_json_member(servers, name) : NULL;
	if (!doc) {
		err = cli_usage("%s is not JSON", path);
	} else if (!server) {
		err = no_server(path, name, servers);
	} else {
		target->name = strdup(name);
		err = read_server(server, target);
	}
	yyjson_doc_free(doc);
	free(text);
	return err;
}

/* "FILE.json" or "FILE.json#NAME": the length of the path; 0: something else. */
static size_t config_path(const char *text)
{
	const char *hash = strrchr(text, '#');
	size_t len = hash ? (size_t)(hash - text) : strlen(text);

	return len > 5 && strncmp(text + len - 5, ".json", 5) == 0 && !strchr(text, ' ') ? len
											 : 0;
}

fw_error *cli_call_target_read(const char *text, struct call_target *ret_target)
{
	size_t path = config_path(text);

	*ret_target = (struct call_target){ .name = NULL };
	if (strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0) {
		ret_target->url = strdup(text);
		ret_target->name = strdup("server");
		return NULL;
	}
	if (path) {
		char *file = strndup(text, path);
		fw_error *err = file ? read_config(file, text[path] ? text + path + 1 : NULL,
						   ret_target)
				     : fw_raise_internal_out_of_memory();

		free(file);
		return err;
	}
	return read_command(text, ret_target);
}
