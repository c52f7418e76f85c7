/*
 * suite.c - run the official JSON Schema test suite against our validator.
 *
 *	suite [-f] [-v] [-t] SUITE-ROOT FOLDER...
 *
 * SUITE-ROOT holds tests/ and remotes/; FOLDER is below tests/, such as
 * draft2020-12 or draft2020-12/optional/format. Prints TAP, one line per file;
 * exit status 1 when a test failed. -f makes `format` an assertion, -v names
 * each failed test, -t ("tolerant") marks files with failures TODO, for the
 * optional folders.
 *
 * Each test runs in every way a caller can read numbers (plain, all raw, big
 * ones raw) and with and without a callback, and passes when all six agree with
 * the suite. References to http://localhost:1234/ are served from remotes/.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/schema/schema.h"

#define NAME_MAX_LEN 4096
#define REMOTES_MAX 256

struct remote {
	char *uri;
	char *text;
	size_t len;
};

static struct {
	const char *root;
	bool assert_format, verbose, tolerant, draft7;
	struct remote remotes[REMOTES_MAX];
	size_t n_remotes;
} suite;

static char *read_file(const char *path, size_t *ret_len)
{
	FILE *f = fopen(path, "rb");
	char *text = NULL;
	long len;

	if (!f)
		return NULL;
	if (fseek(f, 0, SEEK_END) == 0 && (len = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0 &&
	    (text = malloc((size_t)len + 1))) {
		*ret_len = fread(text, 1, (size_t)len, f);
		text[*ret_len] = '\0';
	}
	fclose(f);
	return text;
}

static bool resolve(void *ctx, const char *uri, const char **ret_json, size_t *ret_len)
{
	static const char host[] = "http://localhost:1234/";
	char path[NAME_MAX_LEN];
	struct remote *r;

	(void)ctx;
	for (size_t i = 0; i < suite.n_remotes; i++) {
		if (strcmp(suite.remotes[i].uri, uri) == 0) {
			*ret_json = suite.remotes[i].text;
			*ret_len = suite.remotes[i].len;
			return true;
		}
	}
	if (strncmp(uri, host, sizeof host - 1) != 0 || suite.n_remotes == REMOTES_MAX)
		return false;
	snprintf(path, sizeof path, "%s/remotes/%s", suite.root, uri + sizeof host - 1);
	r = &suite.remotes[suite.n_remotes];
	r->text = read_file(path, &r->len);
	if (!r->text)
		return false;
	r->uri = strdup(uri);
	suite.n_remotes++;
	*ret_json = r->text;
	*ret_len = r->len;
	return true;
}

static bool count(void *ctx, const struct fw_violation *v)
{
	(void)v;
	++*(unsigned *)ctx;
	return true;
}

/* Does the answer agree with itself and with `valid`? */
static bool check(const fw_schema *schema, yyjson_val *data, bool valid)
{
	unsigned n = 0;
	fw_schema_run run = { .on_violation = count, .ctx = &n };
	bool quiet = fw_schema_check(schema, data, NULL);
	bool loud = fw_schema_check(schema, data, &run);

	return quiet == valid && loud == valid && (n == 0) == loud;
}

#define MODES 3

static void run_group(yyjson_val *group[MODES], const char *name, unsigned *passed,
		      unsigned *total)
{
	fw_schema_options opts = { .assert_format = suite.assert_format,
				   .draft7_default = suite.draft7,
				   .resolve = resolve };
	fw_schema_problem problem = { .reason = "" };
	yyjson_val *tests[MODES], *test[MODES];
	fw_schema *schema;
	size_t n;

	schema = fw_schema_compile_val(yyjson_obj_get(group[1], "schema"), &opts, &problem);
	if (!schema && suite.verbose)
		printf("# %s: %s: %s at \"%s\" (%s)\n", name,
		       yyjson_get_str(yyjson_obj_get(group[0], "description")), problem.reason,
		       problem.pointer, problem.detail);
	for (int m = 0; m < MODES; m++)
		tests[m] = yyjson_obj_get(group[m], "tests");
	n = yyjson_arr_size(tests[0]);
	for (size_t i = 0; i < n; i++) {
		bool valid, ok = schema != NULL;

		for (int m = 0; m < MODES; m++)
			test[m] = yyjson_arr_get(tests[m], i);
		valid = yyjson_get_bool(yyjson_obj_get(test[0], "valid"));
		for (int m = 0; ok && m < MODES; m++)
			ok = check(schema, yyjson_obj_get(test[m], "data"), valid);
		*passed += ok;
		++*total;
		if (!ok && suite.verbose)
			printf("# %s: %s: %s: should be %s\n", name,
			       yyjson_get_str(yyjson_obj_get(group[0], "description")),
			       yyjson_get_str(yyjson_obj_get(test[0], "description")),
			       valid ? "valid" : "invalid");
	}
	fw_schema_free(schema);
}

static bool run_file(const char *path, const char *name, unsigned number, unsigned *all_passed,
		     unsigned *all_total)
{
	static const yyjson_read_flag flags[MODES] = { YYJSON_READ_BIGNUM_AS_RAW,
						       YYJSON_READ_NUMBER_AS_RAW,
						       YYJSON_READ_NOFLAG };
	yyjson_doc *docs[MODES] = { NULL };
	yyjson_val *group[MODES];
	unsigned passed = 0, total = 0;
	char *text;
	size_t len = 0;
	bool ok;

	/* Debian 13 has files in which nothing is left: valid, as long as they
	 * can be read. */
	text = read_file(path, &len);
	for (int m = 0; text && m < MODES; m++) {
		docs[m] = yyjson_read(text, len, flags[m]);
		/* 1e400 and the like exist only raw. */
		if (!docs[m])
			docs[m] = yyjson_read(text, len, flags[0]);
	}
	if (docs[0]) {
		size_t n = yyjson_arr_size(yyjson_doc_get_root(docs[0]));

		for (size_t i = 0; i < n; i++) {
			for (int m = 0; m < MODES; m++)
				group[m] = yyjson_arr_get(yyjson_doc_get_root(docs[m]), i);
			run_group(group, name, &passed, &total);
		}
	}
	ok = yyjson_is_arr(yyjson_doc_get_root(docs[0])) && passed == total;
	for (int m = 0; m < MODES; m++)
		yyjson_doc_free(docs[m]);
	free(text);
	printf("%s %u - %s (%u/%u)%s\n", ok ? "ok" : "not ok", number, name, passed, total,
	       !ok && suite.tolerant ? " # TODO optional" : "");
	*all_passed += passed;
	*all_total += total;
	return ok;
}

static int is_json(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return n > 5 && strcmp(e->d_name + n - 5, ".json") == 0;
}

int main(int argc, char **argv)
{
	unsigned number = 0, passed = 0, total = 0, failed = 0;
	int i;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		suite.assert_format |= argv[i][1] == 'f';
		suite.verbose |= argv[i][1] == 'v';
		suite.tolerant |= argv[i][1] == 't';
	}
	if (argc - i < 2) {
		fprintf(stderr, "usage: suite [-f] [-v] [-t] SUITE-ROOT FOLDER...\n");
		return 2;
	}
	suite.root = argv[i];
	for (i++; i < argc; i++) {
		char folder[NAME_MAX_LEN], path[2 * NAME_MAX_LEN], name[NAME_MAX_LEN];
		struct dirent **files;
		int n;

		suite.draft7 = strncmp(argv[i], "draft7", 6) == 0;
		snprintf(folder, sizeof folder, "%s/tests/%s", suite.root, argv[i]);
		n = scandir(folder, &files, is_json, alphasort);
		if (n <= 0) {
			printf("not ok %u - %s (no tests found)\n", ++number, argv[i]);
			failed++;
			continue;
		}
		for (int k = 0; k < n; k++) {
			snprintf(path, sizeof path, "%s/%s", folder, files[k]->d_name);
			snprintf(name, sizeof name, "%s/%s", argv[i], files[k]->d_name);
			failed += !run_file(path, name, ++number, &passed, &total);
			free(files[k]);
		}
		free(files);
	}
	if (total == 0)
		printf("not ok %u - there are tests\n", ++number);
	printf("1..%u\n# %u of %u tests passed\n", number, passed, total);
	for (size_t k = 0; k < suite.n_remotes; k++) {
		free(suite.remotes[k].uri);
		free(suite.remotes[k].text);
	}
	return failed && !suite.tolerant;
}
