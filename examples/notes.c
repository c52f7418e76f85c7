/*
 * notes.c - a server of one's own with everything around it: four tools on a SQLite
 * database, run in isolated processes, one code of its own, and whatever
 * `faultwire serve` records (audit log, incidents, metrics, log, alerts) by one call.
 *
 *	build/examples/notes DIRECTORY [PORT]      without a port: on standard input
 */
#include <faultwire/faultwire.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#define TITLE "\"title\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":80}"
#define SCHEMA(properties, required) \
	"{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required "]}"

static const char codes[] =
	"[{\"code\":\"notes.too_many\",\"title\":\"Notebook Full\",\"category\":\"governance\","
	"\"type\":\"CONFLICT\",\"retry\":\"after_fix\",\"recoverable\":false,\"status\":409,"
	"\"severity\":\"critical\",\"kaiza\":\"UNKNOWN_TOOL_FAILURE\","
	"\"context_v0\":\"internal_error\",\"params\":[{\"name\":\"most\",\"type\":\"u64\"}],"
	"\"message\":\"there are {most} notes already\",\"hint\":\"Delete a note first.\","
	"\"explanation\":\"Nothing was written.\\n\"}]";

static fw_registry *registry;
static char path[4096];
static sqlite3 *db; /* of one worker: each opens the file for itself */

static fw_error *failed(void)
{
	fw_error *err;

	if (sqlite3_extended_errcode(db) == SQLITE_CONSTRAINT_PRIMARYKEY)
		return fw_raise_resource_already_exists("a note of this title");
	err = fw_raise_dependency_unavailable("the notebook");
	fw_error_add_cause(err, sqlite3_errmsg(db), NULL, "sqlite");
	return err;
}

static fw_error *open_notebook(void *ctx)
{
	static const char sql[] = "PRAGMA busy_timeout=2000; CREATE TABLE IF NOT EXISTS"
				  " note(title TEXT PRIMARY KEY, text TEXT NOT NULL)";

	(void)ctx;
	if (sqlite3_open(path, &db) != SQLITE_OK ||
	    sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return failed();
	return NULL;
}

/* Begins a statement: ?1 is the title in the call, ?2 the text. */
static fw_error *begin(fw_call *call, const char *sql, sqlite3_stmt **ret_statement)
{
	sqlite3_stmt *statement = NULL;
	fw_error *err = NULL;
	int result;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
		return failed();
	sqlite3_bind_text(statement, 1, fw_call_string(call, "title", NULL), -1, NULL);
	sqlite3_bind_text(statement, 2, fw_call_string(call, "text", NULL), -1, NULL);
	result = sqlite3_step(statement);
	if (result != SQLITE_ROW && result != SQLITE_DONE) {
		err = failed();
		sqlite3_finalize(statement);
	}
	*ret_statement = statement;
	return err;
}

static fw_error *no_such_note(const fw_call *call)
{
	char what[512];

	snprintf(what, sizeof what, "note \"%s\"", fw_call_string(call, "title", NULL));
	return fw_raise_resource_not_found(what);
}

static fw_error *add_note(fw_call *call, void *ctx)
{
	const fw_row *too_many = fw_registry_find(registry, "notes.too_many");
	const fw_field most = { .key = "most", .key_len = 4, .type = FW_FIELD_U64, .u64 = 3 };
	sqlite3_stmt *statement;
	int count;

	(void)ctx;
	FW_TRY(begin(call, "SELECT count(*) FROM note WHERE title<>?1", &statement));
	count = sqlite3_column_int(statement, 0);
	sqlite3_finalize(statement);
	if (count >= (int)most.u64)
		return fw_raise_row(FW_HERE, too_many, &most, 1);
	FW_TRY(begin(call, "INSERT INTO note VALUES(?1,?2)", &statement));
	sqlite3_finalize(statement);
	fw_call_text(call, "added");
	return NULL;
}

static char get[] = "SELECT text FROM note WHERE title=?1";
static char delete[] = "DELETE FROM note WHERE title=?1 RETURNING text";

/* Two tools: `sql` finds the note, or takes it away. */
static fw_error *one_note(fw_call *call, void *sql)
{
	sqlite3_stmt *statement;
	bool is_there;

	FW_TRY(begin(call, sql, &statement));
	is_there = sqlite3_data_count(statement) > 0;
	if (is_there)
		fw_call_text(call, (const char *)sqlite3_column_text(statement, 0));
	sqlite3_finalize(statement);
	return is_there ? NULL : no_such_note(call);
}

static fw_error *list_notes(fw_call *call, void *ctx)
{
	sqlite3_stmt *row;
	fw_json *json;

	(void)ctx;
	FW_TRY(begin(call, "SELECT title, length(text) FROM note ORDER BY title", &row));
	json = fw_json_new();
	fw_json_object(json, NULL);
	fw_json_array(json, "notes");
	for (; sqlite3_data_count(row); sqlite3_step(row)) {
		fw_json_object(json, NULL);
		fw_json_string(json, "title", (const char *)sqlite3_column_text(row, 0));
		fw_json_i64(json, "length", sqlite3_column_int64(row, 1));
		fw_json_end(json);
	}
	fw_json_end(json);
	fw_json_end(json);
	fw_call_structured_json(call, json);
	sqlite3_finalize(row);
	return NULL;
}

static fw_error *add_tools(fw_server *server, fw_tool tool)
{
	tool.name = "list_notes", tool.handler = list_notes;
	FW_TRY(fw_server_add_tool(server, &tool));
	tool.input_schema = SCHEMA(TITLE, "\"title\"");
	tool.name = "get_note", tool.handler = one_note, tool.ctx = get;
	FW_TRY(fw_server_add_tool(server, &tool));
	tool.changes = true; /* recorded in the audit log, also if it succeeds */
	tool.name = "delete_note", tool.ctx = delete;
	FW_TRY(fw_server_add_tool(server, &tool));
	tool.input_schema =
		SCHEMA(TITLE ",\"text\":{\"type\":\"string\"}", "\"title\",\"text\"");
	tool.name = "add_note", tool.handler = add_note;
	return fw_server_add_tool(server, &tool);
}

static fw_error *serve(fw_server *server, const char *directory, const char *port)
{
	const char *const writable[] = { directory, NULL };
	const fw_workers_options isolation = { .struct_size = sizeof isolation,
					       .writable = writable,
					       .prepare = open_notebook };
	const fw_observe_options observe = { FW_OBSERVE_OPTIONS_DEFAULTS,
					     .state_dir = directory };
	fw_tool tool = { FW_TOOL_DEFAULTS, .run = FW_RUN_PROCESS };
	fw_http_options http = FW_HTTP_OPTIONS_INIT;

	FW_TRY(fw_server_add_workers(server, &isolation, &tool.workers));
	FW_TRY(add_tools(server, tool));
	http.port = (uint16_t)strtoul(port ? port : "0", NULL, 10);
	FW_TRY(port ? fw_server_listen_http(server, &http) : fw_server_listen_stdio(server));
	FW_TRY(fw_server_observe(server, &observe));
	return fw_server_run(server);
}

int main(int argc, char **argv)
{
	const char *directory = argc > 1 ? argv[1] : ".";
	fw_error *err = fw_registry_load(codes, sizeof codes - 1, NULL, NULL, &registry);
	const fw_server_options options = { FW_SERVER_OPTIONS_DEFAULTS, .name = "notes",
					    .version = "1.0.0", .deadline_ms = 5000,
					    .registry = registry };
	fw_server *server = NULL;
	int status = 0;

	snprintf(path, sizeof path, "%s/notes.db", directory);
	if (!err)
		err = fw_server_new(&options, &server);
	if (!err)
		err = serve(server, directory, argc > 2 ? argv[2] : NULL);
	fw_server_free(server);
	if (err)
		status = fprintf(stderr, "notes: %s\n", fw_error_message(err)) != 0;
	fw_error_free(err);
	fw_registry_free(registry);
	return status;
}
