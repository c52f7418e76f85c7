/*
 * fuzz_schema.c - schema and instance from one input, split at the first NUL or
 * newline: "{schema}\n{instance}".
 *
 * Properties: compiling the same text twice gives the same outcome; a check says
 * the same with and without a callback, with a tiny scratch, and twice in a row;
 * a refusal that is heard has at least one violation and an accept none; every
 * text in a report is bounded and printable.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../src/schema/schema.h"

#define MUST(x) ((x) ? (void)0 : abort())

/* Small, so that the fuzzer spends its time on shapes and not on waiting. */
#define STEPS 20000
#define MATCHES 2000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_be_safe(const char *s, size_t max)
{
	size_t n = strlen(s);

	MUST(n < max);
	for (size_t i = 0; i < n; i++)
		MUST((unsigned char)s[i] >= 32 && s[i] != 127);
}

static bool hear(void *ctx, const struct fw_violation *v)
{
	++*(unsigned *)ctx;
	must_be_safe(v->instance_pointer, 512);
	must_be_safe(v->schema_pointer, 512);
	must_be_safe(v->keyword, 32);
	must_be_safe(v->expected, 192);
	must_be_safe(v->found, 81);
	return true;
}

static void check(const fw_schema *s, const char *json, size_t len, yyjson_read_flag flags)
{
	yyjson_doc *doc = yyjson_read(json, len, flags);
	yyjson_val *root = yyjson_doc_get_root(doc);
	unsigned heard = 0;
	char tiny[24];
	fw_schema_run quiet = { .max_steps = STEPS };
	fw_schema_run loud = { .max_steps = STEPS, .on_violation = hear, .ctx = &heard };
	fw_schema_run small = { .max_steps = STEPS,
				.scratch = tiny,
				.scratch_len = sizeof tiny };
	bool ok;

	if (!doc)
		return;
	ok = fw_schema_check(s, root, &quiet);
	MUST(ok == fw_schema_check(s, root, &small));
	MUST(ok == fw_schema_check(s, root, &quiet));
	MUST(ok == fw_schema_check(s, root, &loud));
	MUST(ok == (heard == 0));
	yyjson_doc_free(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	fw_schema_options opts = { .max_bytes = 65536,
				   .match_limit = MATCHES,
				   .assert_format = true };
	fw_schema_problem first, second;
	fw_schema *a, *b;
	size_t split = 0;

	while (split < size && text[split] != '\0' && text[split] != '\n')
		split++;
	if (split == size)
		return 0;
	memset(&first, 0, sizeof first);
	memset(&second, 0, sizeof second);
	a = fw_schema_compile(text, split, &opts, &first);
	b = fw_schema_compile(text, split, &opts, &second);
	MUST(!a == !b);
	MUST(memcmp(&first, &second, sizeof first) == 0);
	fw_schema_free(b);
	if (!a) {
		MUST(first.reason != NULL);
		must_be_safe(first.pointer, sizeof first.pointer);
		must_be_safe(first.detail, sizeof first.detail);
		return 0;
	}
	check(a, text + split + 1, size - split - 1, 0);
	check(a, text + split + 1, size - split - 1, YYJSON_READ_NUMBER_AS_RAW);
	check(a, text + split + 1, size - split - 1,
	      YYJSON_READ_BIGNUM_AS_RAW | YYJSON_READ_ALLOW_INF_AND_NAN);
	fw_schema_free(a);
	return 0;
}
