/*
 * fuzz_registry.c - the reader of users' own rows.
 *
 * A file is taken whole or not at all; a row that is taken can be raised,
 * found by its code, and written in every contract.
 */
#include "fuzz.h"

static void on_problem(void *ctx, const fw_error *problem)
{
	MUST(fw_error_message(problem)[0] != '\0');
	++*(size_t *)ctx;
}

static void use(const fw_registry *registry)
{
	size_t count = fw_registry_count(registry);

	MUST(count >= fw_registry_count(NULL));
	for (size_t i = fw_registry_count(NULL); i < count; i++) {
		const fw_row *row = fw_registry_at(registry, i);
		const fw_decode_options options = { .struct_size = sizeof(fw_decode_options),
						    .registry = registry };
		fw_error *err, *read = NULL;
		size_t len;
		char *text;

		MUST(row && row->number >= 100000);
		MUST(fw_registry_find(registry, row->code) == row);
		MUST(fw_registry_number(registry, row->number) == row);
		MUST(!fw_registry_find(NULL, row->code));
		err = fw_row_example(row);
		MUST(err && fw_error_row(err) == row);
		for (int to = 0; to < FW_CONTRACT_COUNT; to++) {
			MUST(fw_row_code_in(row, (fw_contract)to));
			text = fuzz_text(err, (fw_contract)to, NULL, &len);
			fw_free(text);
		}
		text = fuzz_text(err, FW_CANONICAL, NULL, &len);
		MUST(!fw_error_decode(text, len, FW_CANONICAL, &options, &read));
		MUST(fw_error_row(read) == row);
		fw_free(text);
		fw_error_free(read);
		fw_error_free(err);
	}
	MUST(!fw_registry_at(registry, count));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fw_registry *registry = NULL;
	size_t problems = 0;
	long live = fw_error_live();
	fw_error *err =
		fw_registry_load((const char *)data, size, on_problem, &problems, &registry);

	MUST(!err != !registry);
	if (registry) {
		MUST(problems == 0);
		use(registry);
	} else if (strcmp(fw_error_name(err), "registry.invalid_row") == 0) {
		MUST(problems > 0);
	}
	fw_registry_free(registry);
	fw_error_free(err);
	MUST(fw_error_live() == live);
	return 0;
}
