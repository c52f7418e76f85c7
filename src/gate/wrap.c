/*
 * wrap.c - see wrap.h.
 *
 * The file is edited as text, because parsing and writing it would lose comments and
 * layout. It is parsed as JSON first, so the walk over the text only has to find where
 * values begin and end.
 */
#include "gate/wrap.h"

#include <stdio.h>
#include <string.h>

#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/json.h"
#include "base/utf8.h"
#include "gate/wrap_entry.h"
#include "gate/wrap_walk.h"

enum { WRAP_BYTES = 4 * 1024 * 1024, WRAP_DEPTH = 64, NAME_BYTES = 64, LABEL_SIZE = 512 };

struct wrapping {
	struct fw_wrap_edit edit;
	const char *where;
	bool is_undone;
	fw_wrap_fn *report;
	void *ctx;
};

static fw_error *check_json(const char *text, size_t len, const char *where)
{
	yyjson_read_err fault = { 0 };
	char reason[256];
	yyjson_doc *doc;
	bool is_object;

	if (len > WRAP_BYTES)
		return fw_raise_input_too_large("configuration", WRAP_BYTES);
	doc = fw_json_read(text, len, (struct fw_json_limits){ WRAP_BYTES, WRAP_DEPTH },
			   YYJSON_READ_ALLOW_COMMENTS | YYJSON_READ_ALLOW_TRAILING_COMMAS, NULL,
			   &fault);
	if (!doc && fault.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
		return fw_raise_internal_out_of_memory();
	if (!doc) {
		(void)snprintf(reason, sizeof reason, "it is not JSON at byte %zu: %s",
			       fault.pos, fault.msg ? fault.msg : "nested too deeply");
		return fw_raise_upstream_config_invalid(where, reason);
	}
	is_object = yyjson_is_obj(yyjson_doc_get_root(doc));
	yyjson_doc_free(doc);
	return is_object ? NULL
			 : fw_raise_upstream_config_invalid(where, "it is not a JSON object");
}

/* `project` is absent for a server that is not in a project. */
static fw_error *edit_server(struct wrapping *wrapping, struct fw_slice project,
			     struct fw_slice name, struct fw_slice entry)
{
	const char *fault = fw_wrap_entry_fault(entry);
	char directory[256] = "";
	char label[LABEL_SIZE];
	char text[NAME_BYTES + 1];
	size_t len = fw_slice_text(name, text, sizeof text);
	const char *what;

	if (!len || len > NAME_BYTES)
		return fw_raise_upstream_config_invalid(
			wrapping->where, "a server's name must have 1 to 64 bytes");
	if (fault) {
		(void)snprintf(label, sizeof label, "\"%s\": %s", text, fault);
		return fw_raise_upstream_config_invalid(wrapping->where, label);
	}
	if (project.p)
		(void)fw_slice_text(project, directory, sizeof directory);
	(void)snprintf(label, sizeof label, project.p ? "%s of %s" : "%s", text, directory);
	if (wrapping->is_undone)
		what = fw_wrap_entry_undo(&wrapping->edit, entry);
	else if (fw_wrap_entry_is_gated(entry))
		what = "is behind the gateway already";
	else
		what = fw_wrap_entry(&wrapping->edit, name, entry);
	if (what)
		wrapping->report(wrapping->ctx, label, what);
	return NULL;
}

static fw_error *edit_servers(struct wrapping *wrapping, struct fw_slice project,
			      struct fw_slice servers)
{
	struct fw_wrap_walk walk = fw_wrap_inside(servers);
	struct fw_slice name;
	struct fw_slice entry;

	if (!fw_slice_is_object(servers))
		return fw_raise_upstream_config_invalid(wrapping->where,
							"mcpServers must be an object");
	while (fw_wrap_next_member(&walk, &name, &entry))
		FW_TRY(edit_server(wrapping, project, name, entry));
	return NULL;
}

/* Claude Code keeps all projects of a user in one file. */
static fw_error *edit_projects(struct wrapping *wrapping, struct fw_slice projects)
{
	struct fw_wrap_walk walk = fw_wrap_inside(projects);
	struct fw_slice project;
	struct fw_slice value;

	if (!fw_slice_is_object(projects))
		return NULL;
	while (fw_wrap_next_member(&walk, &project, &value)) {
		struct fw_slice servers = fw_wrap_member(value, "mcpServers");

		if (servers.p)
			FW_TRY(edit_servers(wrapping, project, servers));
	}
	return NULL;
}

/* VS Code can also have servers in its settings. */
static fw_error *edit_settings(struct wrapping *wrapping, struct fw_slice settings)
{
	static const struct fw_slice none = { NULL, 0 };
	struct fw_slice servers = fw_wrap_member(settings, "servers");

	return servers.p ? edit_servers(wrapping, none, servers) : NULL;
}

/* In the order of the file, since the text is copied in one pass. */
static fw_error *edit_root(struct wrapping *wrapping, struct fw_slice root)
{
	static const struct fw_slice none = { NULL, 0 };
	struct fw_slice servers = fw_wrap_member(root, "mcpServers");
	struct fw_slice projects = fw_wrap_member(root, "projects");
	struct fw_slice settings = fw_wrap_member(root, "mcp");
	struct fw_wrap_walk walk = fw_wrap_inside(root);
	struct fw_slice key;
	struct fw_slice value;

	if (!servers.p)
		servers = fw_wrap_member(root, "servers");
	while (fw_wrap_next_member(&walk, &key, &value)) {
		if (value.p == servers.p)
			FW_TRY(edit_servers(wrapping, none, value));
		else if (value.p == projects.p)
			FW_TRY(edit_projects(wrapping, value));
		else if (value.p == settings.p)
			FW_TRY(edit_settings(wrapping, value));
	}
	return NULL;
}

fw_error *fw_wrap(const char *text, size_t len, const char *where, const char *program,
		  bool is_undone, struct fw_buf *out, fw_wrap_fn *report, void *ctx)
{
	struct wrapping wrapping = {
		.edit = { .out = out, .done = text, .program = program },
		.where = where,
		.is_undone = is_undone,
		.report = report,
		.ctx = ctx,
	};
	const char *json = text;
	size_t json_len = len;
	struct fw_wrap_walk walk;

	/* The byte order mark is copied, but is not part of the JSON. */
	fw_utf8_skip_mark(&json, &json_len);
	FW_TRY(check_json(json, json_len, where));
	walk = (struct fw_wrap_walk){ json, json + json_len };
	FW_TRY(edit_root(&wrapping, fw_wrap_skip_value(&walk)));
	fw_wrap_copy_up_to(&wrapping.edit, text + len);
	return out->state == FW_BUF_OK ? NULL : fw_raise_internal_out_of_memory();
}
