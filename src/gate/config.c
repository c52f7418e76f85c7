/*
 * config.c - see config.h.
 *
 * All strings are in one list of blocks, so that a configuration can be freed in the same
 * way even if reading it stopped halfway.
 */
#include "gate/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"
#include "gate/config_impl.h"
#include "gate/names.h"

enum { CONFIG_BYTES = 4 * 1024 * 1024, CONFIG_DEPTH = 32 };

/* Without these variables programs do not find their files, or write text in an
 * unexpected encoding. */
const char *const fw_gate_environment[] = { "PATH",   "HOME", "USER",   "LOGNAME",
					    "SHELL",  "LANG", "LC_ALL", "LC_CTYPE",
					    "TMPDIR", "TERM", "TZ",     NULL };

/* Memory that is freed with the configuration. */
struct fw_gate_block {
	struct fw_gate_block *next;
	char bytes[];
};

static void *allocate(struct fw_gate_config *config, size_t size)
{
	struct fw_gate_block *block = fw__allocate(sizeof *block + size);

	if (!block) {
		config->is_short = true;
		return NULL;
	}
	memset(block->bytes, 0, size);
	block->next = config->blocks;
	config->blocks = block;
	return block->bytes;
}

static char *copy(struct fw_gate_config *config, const char *text)
{
	size_t size = strlen(text) + 1;
	char *to = allocate(config, size);

	if (to)
		memcpy(to, text, size);
	return to;
}

static char *join(struct fw_gate_config *config, const char *name, const char *between,
		  const char *value)
{
	size_t size = strlen(name) + strlen(between) + strlen(value) + 1;
	char *to = allocate(config, size);

	if (to)
		(void)snprintf(to, size, "%s%s%s", name, between, value);
	return to;
}

fw_error *fw_gate_config_new(struct fw_gate_config **ret_config)
{
	struct fw_gate_config *config = fw__allocate(sizeof *config);

	if (!config)
		return fw_raise_internal_out_of_memory();
	memset(config, 0, sizeof *config);
	config->where = "command line";
	*ret_config = config;
	return NULL;
}

void fw_gate_config_free(struct fw_gate_config *config)
{
	if (!config)
		return;
	while (config->blocks) {
		struct fw_gate_block *next = config->blocks->next;

		fw__release(config->blocks);
		config->blocks = next;
	}
	fw__release(config);
}

const struct fw_gate_entry *fw_gate_config_entries(const struct fw_gate_config *config,
						   size_t *ret_count)
{
	*ret_count = config->count;
	return config->entries;
}

/* ---- lists -------------------------------------------------------------------------- */

bool fw_gate_config__list(struct fw_gate_config *config, struct fw_gate_list *list, size_t room)
{
	*list = (struct fw_gate_list){ .room = room };
	list->items = allocate(config, (room + 1) * sizeof *list->items);
	return list->items != NULL;
}

static void list_add(struct fw_gate_list *list, const char *text)
{
	if (list->items && list->count < list->room)
		list->items[list->count++] = text;
}

/* Adds the variables of fw_gate_environment that are set and that the entry does not
 * override. */
static void add_defaults(struct fw_gate_config *config, struct fw_gate_list *list)
{
	for (const char *const *name = fw_gate_environment; *name; name++) {
		const char *value = getenv(*name);
		size_t len = strlen(*name);
		bool is_there = false;

		for (size_t i = 0; i < list->count; i++)
			is_there |= list->items[i] &&
				    strncmp(list->items[i], *name, len) == 0 &&
				    list->items[i][len] == '=';
		if (value && !is_there)
			list_add(list, join(config, *name, "=", value));
	}
}

fw_error *fw_gate_config__invalid(const struct fw_gate_config *config, const char *name,
				  const char *member, const char *expected)
{
	char reason[512];

	(void)snprintf(reason, sizeof reason, "%s of \"%.100s\" must be %s", member, name,
		       expected);
	return fw_raise_upstream_config_invalid(config->where, reason);
}

/* ---- by hand ------------------------------------------------------------------------- */

static const char *const *copy_list(struct fw_gate_config *config, const char *const *from)
{
	struct fw_gate_list list;
	size_t count = 0;

	if (!from)
		return NULL;
	while (from[count])
		count++;
	if (!fw_gate_config__list(config, &list, count))
		return NULL;
	for (size_t i = 0; i < count; i++)
		list_add(&list, copy(config, from[i]));
	return list.items;
}

static const char *const *named_environment(struct fw_gate_config *config,
					    const char *const *names)
{
	struct fw_gate_list list;
	size_t count = 0;

	while (names && names[count])
		count++;
	if (!fw_gate_config__list(config, &list, count + 32))
		return NULL;
	for (size_t i = 0; i < count; i++) {
		const char *value = getenv(names[i]);

		if (strchr(names[i], '='))
			list_add(&list, copy(config, names[i]));
		else if (value)
			list_add(&list, join(config, names[i], "=", value));
	}
	add_defaults(config, &list);
	return list.items;
}

/* Copies "Name: value" unchanged. For "Name=VARIABLE" the value is taken from our
 * environment. */
static fw_error *named_headers(struct fw_gate_config *config, const char *const *headers,
			       const char *const **ret_lines)
{
	struct fw_gate_list list;
	size_t count = 0;

	while (headers && headers[count])
		count++;
	if (!fw_gate_config__list(config, &list, count))
		return fw_raise_internal_out_of_memory();
	for (size_t i = 0; i < count; i++) {
		const char *equals = strchr(headers[i], '=');
		bool is_line = strchr(headers[i], ':') != NULL;
		char *name = copy(config, headers[i]);
		const char *value = getenv(equals ? equals + 1 : headers[i]);

		if (!is_line && (!value || strpbrk(value, "\r\n")))
			return fw_gate_config__invalid(config, headers[i], "the variable",
						       "set, to one line");
		if (name && equals && !is_line)
			name[equals - headers[i]] = '\0';
		list_add(&list, is_line || !name ? name : join(config, name, ": ", value));
	}
	*ret_lines = list.items;
	return NULL;
}

fw_error *fw_gate_config_add(struct fw_gate_config *config, const char *name,
			     const char *const *argv, const char *url, const char *directory,
			     const char *const *names, const char *const *headers)
{
	struct fw_gate_entry *entry = &config->entries[config->count];

	if (config->count == FW_GATE_UPSTREAMS)
		return fw_raise_upstream_config_invalid(config->where,
							"it has too many servers");
	*entry = (struct fw_gate_entry){ .retries = UINT32_MAX, .contract = FW_AUTO };
	entry->target.name = copy(config, name);
	if (argv) {
		entry->target.argv = copy_list(config, argv);
		entry->target.environment = named_environment(config, names);
		entry->target.directory = directory ? copy(config, directory) : NULL;
	} else {
		entry->target.url = copy(config, url);
		FW_TRY(named_headers(config, headers, &entry->target.headers));
	}
	if (config->is_short)
		return fw_raise_internal_out_of_memory();
	config->count++;
	return NULL;
}

/* ---- from a file ----------------------------------------------------------------------- */

static const char *text_of(yyjson_val *value)
{
	return fw_text_str(fw_text_of(value));
}

fw_error *fw_gate_config__strings(struct fw_gate_config *config, const char *name,
				  const char *member, yyjson_val *array,
				  struct fw_gate_list *list)
{
	yyjson_val *item;
	size_t at, count;

	if (array && (!yyjson_is_arr(array) || yyjson_arr_size(array) > FW_GATE_LIST_MOST))
		return fw_gate_config__invalid(config, name, member, "an array of strings");
	yyjson_arr_foreach(array, at, count, item)
	{
		if (!text_of(item))
			return fw_gate_config__invalid(config, name, member,
						       "an array of strings");
		list_add(list, copy(config, text_of(item)));
	}
	return NULL;
}

/* Turns an object of strings into "NAME=value" or "Name: value" lines. */
static fw_error *read_pairs(struct fw_gate_config *config, const char *name, const char *member,
			    const char *between, yyjson_val *object, struct fw_gate_list *list)
{
	yyjson_obj_iter iter;
	yyjson_val *key;

	if (object && (!yyjson_is_obj(object) || yyjson_obj_size(object) > FW_GATE_LIST_MOST))
		return fw_gate_config__invalid(config, name, member, "an object of strings");
	iter = yyjson_obj_iter_with(object);
	while ((key = yyjson_obj_iter_next(&iter))) {
		const char *value = text_of(yyjson_obj_iter_get_val(key));

		if (!value || !text_of(key) || strpbrk(value, "\r\n") ||
		    strpbrk(text_of(key), "=:\r\n"))
			return fw_gate_config__invalid(config, name, member,
						       "an object of strings of one line");
		list_add(list, join(config, text_of(key), between, value));
	}
	return NULL;
}

static fw_error *read_program(struct fw_gate_config *config, struct fw_gate_entry *entry,
			      yyjson_val *server)
{
	const char *name = entry->target.name;
	const char *command = text_of(fw_json_member(server, "command"));
	yyjson_val *args = fw_json_member(server, "args");
	yyjson_val *env = fw_json_member(server, "env");
	yyjson_val *cwd = fw_json_member(server, "cwd");
	struct fw_gate_list argv;
	struct fw_gate_list environment;

	if (!fw_gate_config__list(config, &argv, yyjson_arr_size(args) + 1) ||
	    !fw_gate_config__list(config, &environment, yyjson_obj_size(env) + 32))
		return fw_raise_internal_out_of_memory();
	list_add(&argv, copy(config, command));
	FW_TRY(fw_gate_config__strings(config, name, "args", args, &argv));
	FW_TRY(read_pairs(config, name, "env", "=", env, &environment));
	add_defaults(config, &environment);
	if (cwd && !text_of(cwd))
		return fw_gate_config__invalid(config, name, "cwd", "a string");
	entry->target.argv = argv.items;
	entry->target.environment = environment.items;
	entry->target.directory = cwd ? copy(config, text_of(cwd)) : NULL;
	return NULL;
}

static fw_error *read_endpoint(struct fw_gate_config *config, struct fw_gate_entry *entry,
			       yyjson_val *server)
{
	yyjson_val *headers = fw_json_member(server, "headers");
	const char *type = text_of(fw_json_member(server, "type"));
	struct fw_gate_list lines;

	if (type && strcmp(type, "sse") == 0)
		return fw_gate_config__invalid(
			config, entry->target.name, "type",
			"\"http\": the transport \"sse\" of 2024 is not supported");
	if (!fw_gate_config__list(config, &lines, yyjson_obj_size(headers)))
		return fw_raise_internal_out_of_memory();
	FW_TRY(read_pairs(config, entry->target.name, "headers", ": ", headers, &lines));
	entry->target.url = copy(config, text_of(fw_json_member(server, "url")));
	entry->target.headers = lines.items;
	return NULL;
}

static fw_error *read_server(struct fw_gate_config *config, const char *name,
			     yyjson_val *server)
{
	struct fw_gate_entry *entry = &config->entries[config->count];
	bool is_program = text_of(fw_json_member(server, "command")) != NULL;
	bool is_endpoint = text_of(fw_json_member(server, "url")) != NULL;

	if (yyjson_is_true(fw_json_member(server, "disabled")))
		return NULL;
	if (config->count == FW_GATE_UPSTREAMS)
		return fw_raise_upstream_config_invalid(config->where,
							"it has too many servers");
	if (is_program == is_endpoint)
		return fw_gate_config__invalid(config, name, "the entry",
					       "an object with a command or a url");
	*entry = (struct fw_gate_entry){ .retries = UINT32_MAX, .contract = FW_AUTO };
	entry->target.name = copy(config, name);
	FW_TRY(is_program ? read_program(config, entry, server)
			  : read_endpoint(config, entry, server));
	FW_TRY(fw_gate_config__own(config, entry, fw_json_member(server, "faultwire")));
	if (config->is_short)
		return fw_raise_internal_out_of_memory();
	config->count++;
	return NULL;
}

yyjson_val *fw_gate_config_servers(yyjson_val *root)
{
	yyjson_val *servers = fw_json_member(root, "mcpServers");

	if (!servers)
		servers = fw_json_member(root, "servers");
	/* The settings of VS Code. */
	return servers ? servers : fw_json_member(fw_json_member(root, "mcp"), "servers");
}

static fw_error *read_servers(struct fw_gate_config *config, yyjson_val *root)
{
	yyjson_val *servers = fw_gate_config_servers(root);
	yyjson_obj_iter iter;
	yyjson_val *key;

	if (!yyjson_is_obj(servers))
		return fw_raise_upstream_config_invalid(config->where,
							"it has no object mcpServers");
	iter = yyjson_obj_iter_with(servers);
	while ((key = yyjson_obj_iter_next(&iter))) {
		const char *name = text_of(key);

		if (!name || !*name || strlen(name) > 64)
			return fw_raise_upstream_config_invalid(
				config->where, "a server's name must have 1 to 64 bytes");
		FW_TRY(read_server(config, name, yyjson_obj_iter_get_val(key)));
	}
	if (!config->count)
		return fw_raise_upstream_config_invalid(config->where, "it names no server");
	return NULL;
}

/* If two servers had the same prefix, their tools could not be distinguished. */
static fw_error *check_prefixes(const struct fw_gate_config *config)
{
	char prefix[FW_GATE_PREFIX_SIZE];
	char other[FW_GATE_PREFIX_SIZE];
	char reason[256];

	for (size_t i = 0; i < config->count; i++) {
		fw_gate_prefix(config->entries[i].target.name, prefix);
		for (size_t n = 0; n < i; n++) {
			fw_gate_prefix(config->entries[n].target.name, other);
			if (strcmp(prefix, other) != 0)
				continue;
			(void)snprintf(
				reason, sizeof reason,
				"the names of two servers are the same, or differ only in "
				"characters that names of tools cannot have: %.60s, %.60s",
				config->entries[n].target.name, config->entries[i].target.name);
			return fw_raise_upstream_config_invalid(config->where, reason);
		}
	}
	return NULL;
}

fw_error *fw_gate_config_read(const char *text, size_t len, const char *where,
			      struct fw_gate_config **ret_config)
{
	struct fw_gate_config *config = NULL;
	yyjson_read_err fault = { 0 };
	char reason[256];
	yyjson_doc *doc;
	fw_error *err;

	if (len > CONFIG_BYTES)
		return fw_raise_input_too_large("configuration", CONFIG_BYTES);
	FW_TRY(fw_gate_config_new(&config));
	config->where = copy(config, where);
	fw_utf8_skip_mark(&text, &len);
	doc = fw_json_read(text, len, (struct fw_json_limits){ CONFIG_BYTES, CONFIG_DEPTH },
			   YYJSON_READ_ALLOW_COMMENTS | YYJSON_READ_ALLOW_TRAILING_COMMAS, NULL,
			   &fault);
	if (!doc && fault.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
		err = fw_raise_internal_out_of_memory();
	} else if (!doc) {
		(void)snprintf(reason, sizeof reason, "it is not JSON at byte %zu: %s",
			       fault.pos, fault.msg ? fault.msg : "nested too deeply");
		err = fw_raise_upstream_config_invalid(where, reason);
	} else {
		err = config->where ? read_servers(config, yyjson_doc_get_root(doc))
				    : fw_raise_internal_out_of_memory();
		if (!err)
			err = check_prefixes(config);
	}
	yyjson_doc_free(doc);
	if (err) {
		fw_gate_config_free(config);
		return err;
	}
	*ret_config = config;
	return NULL;
}
