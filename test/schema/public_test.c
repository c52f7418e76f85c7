/*
 * public_test.c - the schemas of tools that people really publish.
 *
 *	public_test FOLDER
 *
 * FOLDER holds one file for each public server: an array of {tool, inputSchema,
 * outputSchema?}. Prints TAP, one line a server. Every schema compiles; an empty
 * object is judged without giving up; and one that `required` speaks of is
 * refused by the name of each property.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/schema/schema.h"

enum { PATH_BYTES = 4096, VIOLATIONS = 256, SERVERS_AT_LEAST = 50 };

static unsigned schemas_seen;

struct heard {
	yyjson_val *required;
	size_t named; /* of those */
	bool gave_up;
};

static bool hear(void *ctx, const struct fw_violation *v)
{
	struct heard *heard = ctx;
	yyjson_val *name;
	size_t i, n;

	if (strcmp(v->keyword, "limit") == 0)
		heard->gave_up = true;
	if (strcmp(v->keyword, "required") != 0 || v->instance_pointer[0])
		return true;
	yyjson_arr_foreach(heard->required, i, n, name)
	{
		char wanted[256];

		(void)snprintf(wanted, sizeof wanted, "property \"%s\"", yyjson_get_str(name));
		heard->named += strcmp(v->expected, wanted) == 0;
	}
	return true;
}

/* Prints what is wrong, and says false then. */
static bool run_schema(const char *server, const char *tool, const char *which, yyjson_val *val)
{
	fw_schema_problem problem = { .reason = "" };
	yyjson_doc *empty = yyjson_read("{}", 2, 0);
	struct heard heard = { .required = yyjson_obj_get(val, "required") };
	fw_schema_run run = { .on_violation = hear,
			      .ctx = &heard,
			      .max_violations = VIOLATIONS };
	size_t wanted = yyjson_arr_size(heard.required);
	fw_schema *schema = fw_schema_compile_val(val, NULL, &problem);
	const char *wrong = NULL;
	bool ok;

	schemas_seen++;
	if (!schema) {
		printf("# %s %s %s: %s at \"%s\" (%s)\n", server, tool, which, problem.reason,
		       problem.pointer, problem.detail);
		yyjson_doc_free(empty);
		return false;
	}
	ok = fw_schema_check(schema, yyjson_doc_get_root(empty), &run);
	if (heard.gave_up)
		wrong = "a limit was exceeded";
	else if (ok != fw_schema_check(schema, yyjson_doc_get_root(empty), NULL))
		wrong = "it depends on who listens";
	else if (wanted && ok)
		wrong = "an empty object is accepted";
	else if (heard.named != wanted)
		wrong = "not every missing property is named";
	if (wrong)
		printf("# %s %s %s: %s\n", server, tool, which, wrong);
	fw_schema_free(schema);
	yyjson_doc_free(empty);
	return !wrong;
}

static bool run_server(const char *path, const char *name)
{
	yyjson_doc *doc = yyjson_read_file(path, YYJSON_READ_NUMBER_AS_RAW, NULL, NULL);
	yyjson_val *root = yyjson_doc_get_root(doc);
	yyjson_val *tool;
	bool ok = yyjson_arr_size(root) > 0;
	size_t i, n;

	yyjson_arr_foreach(root, i, n, tool)
	{
		const char *said = yyjson_get_str(yyjson_obj_get(tool, "tool"));
		yyjson_val *output = yyjson_obj_get(tool, "outputSchema");

		ok &= run_schema(name, said ? said : "?", "inputSchema",
				 yyjson_obj_get(tool, "inputSchema"));
		if (output)
			ok &= run_schema(name, said ? said : "?", "outputSchema", output);
	}
	yyjson_doc_free(doc);
	return ok;
}

static int is_json(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return len > 5 && strcmp(entry->d_name + len - 5, ".json") == 0;
}

int main(int argc, char **argv)
{
	struct dirent **files = NULL;
	unsigned failed = 0;
	int n;

	if (argc != 2) {
		(void)fprintf(stderr, "usage: public_test FOLDER\n");
		return 2;
	}
	n = scandir(argv[1], &files, is_json, alphasort);
	n = n < 0 ? 0 : n;
	printf("1..%d\n", n + 1);
	for (int i = 0; i < n; i++) {
		char path[PATH_BYTES];
		bool ok;

		(void)snprintf(path, sizeof path, "%s/%s", argv[1], files[i]->d_name);
		ok = run_server(path, files[i]->d_name);
		failed += !ok;
		printf("%s %d - %s\n", ok ? "ok" : "not ok", i + 1, files[i]->d_name);
		free(files[i]);
	}
	free(files);
	failed += n < SERVERS_AT_LEAST;
	printf("%s %d - %d servers, %u schemas\n", n < SERVERS_AT_LEAST ? "not ok" : "ok",
	       n + 1, n, schemas_seen);
	return failed != 0;
}
