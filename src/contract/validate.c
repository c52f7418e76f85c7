/*
 * validate.c - checks an envelope against its contract.
 *
 * The rules are the published JSON Schema, so an envelope that passes here passes in
 * any other validator. What a schema cannot express, that a code, its class and its
 * type URI belong together, is checked against the registry afterwards, under the
 * rule name "registry".
 */
#include "base/limits.h"
#include "base/mem.h"
#include "contract/contract_impl.h"
#include "core/options.h"
#include "core/redact.h"
#include "core/registry_table.h"
#include "schema/schema.h"

#include <faultwire/raise.h>
#include <stdio.h>

struct fw_validator {
	fw_contract contract;
	const fw_registry *registry;
	fw_schema *schemas[FW_CONTRACT_COUNT]; /* compiled on first use */
};

const char *fw_contract_schema(fw_contract contract)
{
	return (unsigned)contract < FW_CONTRACT_COUNT ? fw__schemas[contract] : NULL;
}

fw_error *fw_validator_new(fw_contract contract, const fw_decode_options *options,
			   fw_validator **ret_validator)
{
	fw_decode_options known = FW_DECODE_OPTIONS_INIT;
	fw_validator *validator;

	FW_TRY(fw_options_read("fw_validator_new", options, &known, sizeof(known)));
	if ((unsigned)contract >= FW_CONTRACT_COUNT && contract != FW_AUTO)
		return fw_raise_internal_api_misuse("fw_validator_new", "contract");
	validator = fw__allocate(sizeof(*validator));
	if (!validator)
		return fw_raise_internal_out_of_memory();
	*validator = (fw_validator){
		.contract = contract,
		.registry = known.registry,
	};
	*ret_validator = validator;
	return NULL;
}

void fw_validator_free(fw_validator *validator)
{
	if (!validator)
		return;
	for (size_t i = 0; i < FW_CONTRACT_COUNT; i++)
		fw_schema_free(validator->schemas[i]);
	fw__release(validator);
}

/* ---- one check ---- */

struct check {
	const fw_validator *validator;
	fw_violation_fn *on_violation;
	void *ctx;
	size_t count;
};

static void report(struct check *check, const char *pointer, const char *rule,
		   const char *expected, const char *found)
{
	const fw_violation_info info = { pointer, rule, expected, found };

	if (check->count >= FW_VIOLATIONS_MAX)
		return;
	check->count++;
	if (check->on_violation)
		check->on_violation(check->ctx, &info);
}

static bool on_schema_violation(void *ctx, const struct fw_violation *violation)
{
	struct check *check = ctx;

	report(check, violation->instance_pointer, violation->keyword, violation->expected,
	       violation->found);
	return check->count < FW_VIOLATIONS_MAX;
}

/* Requires the string at `key` to be `wanted`. */
static void expect(struct check *check, yyjson_val *object, const char *base, const char *key,
		   const char *wanted)
{
	yyjson_val *value = yyjson_obj_get(object, key);
	char pointer[64], expected[160], found[160], shown[101];

	if (!value || yyjson_equals_str(value, wanted))
		return;
	snprintf(pointer, sizeof(pointer), "%s/%s", base, key);
	snprintf(expected, sizeof(expected), "\"%s\", as registered for the code", wanted);
	if (yyjson_is_str(value))
		(void)fw_redact_cut(shown, sizeof(shown), yyjson_get_str(value),
				    yyjson_get_len(value));
	else
		snprintf(shown, sizeof(shown), "%s", yyjson_get_type_desc(value));
	snprintf(found, sizeof(found), "\"%s\"", shown);
	report(check, pointer, "registry", expected, found);
}

static void expect_status(struct check *check, yyjson_val *object, const char *base, int wanted)
{
	yyjson_val *value = yyjson_obj_get(object, "status");
	char pointer[64], expected[64], found[64];
	double status;

	if (!value || !fw_value_number(value, &status) || (int)status == wanted)
		return;
	snprintf(pointer, sizeof(pointer), "%s/status", base);
	snprintf(expected, sizeof(expected), "%d, as the contract defines for the code",
		 wanted);
	snprintf(found, sizeof(found), "%d", (int)status);
	report(check, pointer, "registry", expected, found);
}

/* Codeintel: the type URI must end in the code, and the status must be that of the
 * code. */
static void check_codeintel(struct check *check, yyjson_val *root)
{
	yyjson_val *problem = yyjson_obj_get(root, "problem");
	const char *code = yyjson_get_str(yyjson_obj_get(problem, "code"));
	char type[256];

	if (!code)
		return;
	snprintf(type, sizeof(type), "https://kgfoundry.dev/problems/%s", code);
	expect(check, problem, "/problem", "type", type);
	if (fw_codeintel_status(code))
		expect_status(check, problem, "/problem", fw_codeintel_status(code));
}

static void check_owlclaw(struct check *check, yyjson_val *object, const char *base)
{
	const char *code = yyjson_get_str(yyjson_obj_get(object, "code"));
	const fw_row *row = fw_registry_read(check->validator->registry, FW_OWLCLAW, code);

	if (row)
		expect(check, object, base, "category", fw_category_name(row->category));
}

static void check_canonical(struct check *check, yyjson_val *root)
{
	const char *code = yyjson_get_str(yyjson_obj_get(root, "code"));
	const fw_row *row = fw_registry_find(check->validator->registry, code);

	if (!row)
		return;
	expect(check, root, "", "category", fw_category_name(row->category));
	expect(check, root, "", "type", fw_type_name(row->type));
	expect(check, root, "", "severity", fw_severity_name(row->severity));
}

/* Called only after the schema check passed, so members exist and have the right
 * types. */
static void check_registry(struct check *check, fw_contract contract, yyjson_val *root)
{
	switch (contract) {
	case FW_CODEINTEL: check_codeintel(check, root); break;
	case FW_OWLCLAW: check_owlclaw(check, yyjson_obj_get(root, "error"), "/error"); break;
	case FW_OWLCLAW_API: check_owlclaw(check, root, ""); break;
	case FW_CANONICAL: check_canonical(check, root); break;
	default: break;
	}
}

static fw_error *check_root(struct check *check, fw_validator *validator, yyjson_val *root)
{
	const fw_schema_options options = { .alc = &fw__yyjson_alc, .assert_format = true };
	const fw_schema_run run = { .on_violation = on_schema_violation,
				    .ctx = check,
				    .max_violations = FW_VIOLATIONS_MAX };
	fw_contract contract = validator->contract;
	struct fw_value_where where = { "" };
	fw_schema_problem problem;
	struct fw_out count;

	if (contract == FW_AUTO)
		contract = fw_sniff_value(root);
	if (contract == FW_ANY_JSON) {
		report(check, "", "contract", "an envelope of one of the contracts",
		       "other JSON");
		return NULL;
	}
	/* A valid envelope must also be readable: the readers refuse these. */
	fw_out_init(&count, NULL, 0);
	switch (fw_value_write(&count, root, NULL, &where)) {
	case FW_VALUE_OK: break;
	case FW_VALUE_DUPLICATE_KEY:
		report(check, where.pointer, "unique", "each key once",
		       "a key that is there twice");
		return NULL;
	case FW_VALUE_TOO_DEEP:
		report(check, where.pointer, "limit", "at most 64 levels", "more");
		return NULL;
	case FW_VALUE_NO_MEMORY: return fw_raise_internal_out_of_memory();
	}
	if (!validator->schemas[contract]) {
		const char *text = fw__schemas[contract];

		validator->schemas[contract] =
			fw_schema_compile(text, strlen(text), &options, &problem);
		/* A test makes sure that our own schemas compile. */
		if (!validator->schemas[contract])
			return fw_raise_internal_out_of_memory();
	}
	if (fw_schema_check(validator->schemas[contract], root, &run))
		check_registry(check, contract, root);
	return NULL;
}

fw_error *fw_validator_check(fw_validator *validator, const char *text, size_t len,
			     fw_violation_fn *on_violation, void *ctx, size_t *ret_count)
{
	struct check check = { validator, on_violation, ctx, 0 };
	yyjson_doc *doc = NULL;
	fw_error *failed;

	if (len > FW_LIMIT_ENVELOPE_BYTES)
		return fw_raise_input_too_large("text", FW_LIMIT_ENVELOPE_BYTES);
	FW_TRY(fw_read_parse((char *)text, len, 0, &fw__yyjson_alc, &doc));
	failed = check_root(&check, validator, yyjson_doc_get_root(doc));
	yyjson_doc_free(doc);
	if (!failed)
		*ret_count = check.count;
	return failed;
}

fw_error *fw_validate(const char *text, size_t len, fw_contract contract,
		      const fw_decode_options *options, fw_violation_fn *on_violation,
		      void *ctx, size_t *ret_count)
{
	fw_validator *validator = NULL;
	fw_error *failed;

	FW_TRY(fw_validator_new(contract, options, &validator));
	failed = fw_validator_check(validator, text, len, on_violation, ctx, ret_count);
	fw_validator_free(validator);
	return failed;
}
