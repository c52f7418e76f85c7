/*
 * registry_load.c - builds a registry of the built-in rows and a user's rows from
 * JSON.
 *
 * It takes two passes. The first reads and checks every row (registry_row.c); the
 * strings are still those of the parsed file. If there was no fault, the second
 * builds one block with rows, parameters, tables and strings, so that a registry is a
 * single allocation. The built-in rows are copied to its front, so that lookups work
 * the same in both kinds of registry.
 */
#include "base/ascii.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/out.h"
#include "core/registry.h"
#include "core/registry_row.h"
#include "core/registry_table.h"
#include "core/value.h"

#include <faultwire/raise.h>
#include <string.h>

enum {
	BYTES_MAX = 4 * 1024 * 1024,
	ROWS_MAX = 10000, /* together with the built-in ones fewer than a slot can
			   * hold */
	FIRST_NUMBER = 100000,
};

/* A registry being loaded. The strings of `rows` belong to `doc`. */
struct loader {
	struct fw_row_reader reader;
	yyjson_val *array;
	size_t count;
	fw_row *rows;
	fw_param *params; /* FW_ROW_PARAMS_MAX for each row */
	uint16_t *seen;   /* codes of the file, as in row_index.h */
	uint32_t seen_mask;
	size_t param_total, string_bytes;
};

/* Keeps the table at most half full. */
static uint32_t slots_for(size_t count)
{
	uint32_t slots = FW_INDEX_SLOTS;

	while (slots < 2 * count)
		slots *= 2;
	return slots;
}

/* ---- the first pass ---- */

static const fw_row *find_seen(const struct loader *loader, const char *code)
{
	uint32_t at = fw_index_hash(code, strlen(code)) & loader->seen_mask;

	for (; loader->seen[at]; at = (at + 1) & loader->seen_mask) {
		const fw_row *row = &loader->rows[loader->seen[at] - 1];

		if (strcmp(row->code, code) == 0)
			return row;
	}
	return NULL;
}

static void check_new(struct loader *loader, size_t i)
{
	const char *code = loader->rows[i].code;
	const fw_row *other;

	if (!*code)
		return;
	other = find_seen(loader, code);
	if (fw_registry_find(NULL, code))
		fw__row_fault(&loader->reader, "code %s is built in: choose another", code);
	else if (other)
		fw__row_fault(&loader->reader, "code %s is also that of row %zu", code,
			      (size_t)(other - loader->rows) + 1);
	else
		fw__index_put(loader->seen, loader->seen_mask, code, i);
}

static void write_default(struct fw_out *out, const fw_param *param)
{
	switch (param->type) {
	case FW_PARAM_STRING: fw_out_json(out, param->name, strlen(param->name)); break;
	case FW_PARAM_I64:
	case FW_PARAM_U64:
	case FW_PARAM_F64: FW_OUT(out, "1"); break;
	case FW_PARAM_BOOL: FW_OUT(out, "true"); break;
	case FW_PARAM_JSON: FW_OUT(out, "{}"); break;
	}
}

/* An example value for each parameter: that of the row, or one chosen by type. */
static enum fw_value_fault write_example(struct fw_out *out, const fw_row *row,
					 yyjson_val *value)
{
	static const struct fw_value_options plain = { .redact = false };
	yyjson_val *example = yyjson_obj_get(value, "example");
	enum fw_value_fault fault = FW_VALUE_OK;

	FW_OUT(out, "{");
	for (size_t i = 0; i < row->param_count && fault == FW_VALUE_OK; i++) {
		const fw_param *param = &row->params[i];
		yyjson_val *given = yyjson_obj_get(example, param->name);

		if (i > 0)
			FW_OUT(out, ",");
		fw_out_json(out, param->name, strlen(param->name));
		FW_OUT(out, ":");
		if (given)
			fault = fw_value_write(out, given, &plain, NULL);
		else
			write_default(out, param);
	}
	FW_OUT(out, "}");
	return fault;
}

static void report_example_fault(struct loader *loader, enum fw_value_fault fault)
{
	if (fault == FW_VALUE_NO_MEMORY && !loader->reader.first)
		loader->reader.first = fw_raise_internal_out_of_memory();
	else if (fault != FW_VALUE_OK)
		fw__row_fault(&loader->reader,
			      "example is nested too deep or has a member twice");
}

/* Adds up the bytes of its strings, each with its NUL. */
static void measure(struct loader *loader, const fw_row *row, yyjson_val *value)
{
	struct fw_out out;

	fw_out_init(&out, NULL, 0);
	report_example_fault(loader, write_example(&out, row, value));
	loader->string_bytes += fw_out_finish(&out, 0) + 1;
	loader->string_bytes += strlen(row->code) + 1 + strlen(row->title) + 1;
	loader->string_bytes += strlen(row->message) + 1 + strlen(row->hint) + 1;
	loader->string_bytes += strlen(row->explanation) + 1;
	loader->string_bytes += strlen(row->codeintel ? row->codeintel : row->code) + 1;
	for (size_t i = 0; i < row->param_count; i++)
		loader->string_bytes += strlen(row->params[i].name) + 1;
	loader->param_total += row->param_count;
}

static void read_rows(struct loader *loader)
{
	size_t i, count;
	yyjson_val *value;

	yyjson_arr_foreach(loader->array, i, count, value)
	{
		fw_row *row = &loader->rows[i];

		loader->reader.row = i + 1;
		fw__row_read(&loader->reader, value, row,
			     loader->params + i * FW_ROW_PARAMS_MAX);
		check_new(loader, i);
		measure(loader, row, value);
	}
}

/* ---- the second pass ---- */

/* Positions in the block. */
struct block {
	fw_registry *registry;
	fw_row *rows;
	fw_param *params;
	uint16_t *slots;
	char *strings;
	size_t string_room;
};

static const char *keep(struct block *block, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = block->strings;

	memcpy(copy, text, size);
	block->strings += size;
	block->string_room -= size;
	return copy;
}

/* The default name of a code: the canonical one with hyphens. */
static const char *keep_kebab(struct block *block, const char *code)
{
	char *copy = block->strings;

	(void)keep(block, code);
	for (char *at = copy; *at; at++)
		*at = fw_slug_char(*at);
	return copy;
}

static const char *keep_example(struct loader *loader, struct block *block, const fw_row *row,
				yyjson_val *value)
{
	char *text = block->strings;
	struct fw_out out;
	size_t len;

	fw_out_init(&out, text, block->string_room);
	report_example_fault(loader, write_example(&out, row, value));
	len = fw_out_finish(&out, block->string_room);
	block->strings += len + 1;
	block->string_room -= len + 1;
	return text;
}

static bool make_block(const struct loader *loader, struct block *ret_block)
{
	size_t count = fw__row_count + loader->count;
	uint32_t slots = slots_for(count);
	size_t rows_bytes = count * sizeof(fw_row);
	size_t params_bytes = (loader->param_total + 1) * sizeof(fw_param);
	size_t slots_bytes = (size_t)FW_INDEX_COUNT * slots * sizeof(uint16_t);
	char *memory = fw__allocate(sizeof(fw_registry) + rows_bytes + params_bytes +
				    slots_bytes + loader->string_bytes + 1);
	struct block block;

	if (!memory)
		return false;
	/* In descending order of alignment. */
	block.registry = (fw_registry *)(void *)memory;
	block.rows = (fw_row *)(void *)(memory += sizeof(fw_registry));
	block.params = (fw_param *)(void *)(memory += rows_bytes);
	block.slots = (uint16_t *)(void *)(memory += params_bytes);
	block.strings = memory + slots_bytes;
	block.string_room = loader->string_bytes + 1;
	memset(block.slots, 0, slots_bytes);
	*block.registry = (fw_registry){ .rows = block.rows, .slot_mask = slots - 1 };
	for (int key = 0; key < FW_INDEX_COUNT; key++)
		block.registry->slots[key] = block.slots + (size_t)key * slots;
	*ret_block = block;
	return true;
}

static void add_row(const struct block *block, const fw_row *row)
{
	fw_registry *registry = block->registry;
	size_t slots = (size_t)registry->slot_mask + 1;

	block->rows[registry->count] = *row;
	for (int key = 0; key < FW_INDEX_COUNT; key++) {
		const char *text = fw__row_key(row, (enum fw_index_key)key);

		if (text)
			fw__index_put(block->slots + (size_t)key * slots, registry->slot_mask,
				      text, registry->count);
	}
	registry->count++;
}

/*
 * The codes of codeintel are an open set, so a new name is read back as the row that
 * introduced it. The closed sets of other contracts stay with the built-in rows.
 */
static void claim_codeintel(struct loader *loader, const struct block *block, fw_row *row,
			    bool is_default)
{
	const fw_row *reader = fw_registry_read(block->registry, FW_CODEINTEL, row->codeintel);

	if (!reader)
		row->reads |= 1u << FW_CODEINTEL;
	else if (is_default)
		fw__row_fault(&loader->reader,
			      "codeintel would be \"%s\", which is read as %s: give another",
			      row->codeintel, reader->code);
}

/*
 * The rows of the file share codes of the closed contracts with built-in rows, which
 * may be more retryable. Their codes are then read as the less retryable class.
 */
static void lower_readers(const struct block *block, const fw_row *row)
{
	static const fw_contract shared[] = { FW_KAIZA, FW_CONTEXT_V0, FW_CODEINTEL,
					      FW_TOOLERROR };

	for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++) {
		fw_contract contract = shared[i];
		const fw_row *found = fw_registry_read(block->registry, contract,
						       fw_row_code_in(row, contract));
		fw_row *reader;

		if (!found || fw_row_retry_in(found, contract) <= row->retry)
			continue;
		reader = &block->rows[found - block->rows];
		reader->read_retry &= ~(3u << 2 * contract);
		reader->read_retry |= (unsigned)row->retry << 2 * contract;
	}
}

static void pack(struct loader *loader, struct block *block)
{
	size_t i, count;
	yyjson_val *value;

	for (i = 0; i < fw__row_count; i++)
		add_row(block, &fw__rows[i]);
	yyjson_arr_foreach(loader->array, i, count, value)
	{
		fw_row row = loader->rows[i];
		bool is_default = !row.codeintel;

		loader->reader.row = i + 1;
		loader->reader.code = row.code;
		row.number = FIRST_NUMBER + (int)i;
		row.since = "";
		row.kaiza = fw_registry_read(NULL, FW_KAIZA, row.kaiza)->kaiza;
		row.context_v0 =
			fw_registry_read(NULL, FW_CONTEXT_V0, row.context_v0)->context_v0;
		row.codeintel =
			is_default ? keep_kebab(block, row.code) : keep(block, row.codeintel);
		row.example = keep_example(loader, block, &row, value);
		row.code = keep(block, row.code);
		row.title = keep(block, row.title);
		row.message = keep(block, row.message);
		row.hint = keep(block, row.hint);
		row.explanation = keep(block, row.explanation);
		row.code_len = (uint16_t)strlen(row.code);
		row.title_len = (uint16_t)strlen(row.title);
		row.kaiza_len = (uint16_t)strlen(row.kaiza);
		row.context_v0_len = (uint16_t)strlen(row.context_v0);
		row.codeintel_len = (uint16_t)strlen(row.codeintel);
		row.hint_len = (uint16_t)strlen(row.hint);
		for (size_t p = 0; p < row.param_count; p++) {
			block->params[p] = row.params[p];
			block->params[p].name = keep(block, row.params[p].name);
		}
		row.params = block->params;
		block->params += row.param_count;
		claim_codeintel(loader, block, &row, is_default);
		row.read_retry = (unsigned)row.retry << 2 * FW_CODEINTEL;
		add_row(block, &row);
		lower_readers(block, &block->rows[block->registry->count - 1]);
	}
}

/* ---- loading ---- */

static fw_error *load_rows(struct loader *loader, fw_registry **ret_registry)
{
	struct block block;

	loader->seen_mask = slots_for(loader->count) - 1;
	loader->rows = fw__allocate((loader->count + 1) * sizeof(fw_row));
	loader->params =
		fw__allocate((loader->count + 1) * FW_ROW_PARAMS_MAX * sizeof(fw_param));
	loader->seen = fw__allocate((loader->seen_mask + (size_t)1) * sizeof(uint16_t));
	if (!loader->rows || !loader->params || !loader->seen)
		return fw_raise_internal_out_of_memory();
	memset(loader->seen, 0, (loader->seen_mask + (size_t)1) * sizeof(uint16_t));
	read_rows(loader);
	if (loader->reader.first)
		return loader->reader.first;
	if (!make_block(loader, &block))
		return fw_raise_internal_out_of_memory();
	pack(loader, &block);
	if (loader->reader.first) {
		fw_registry_free(block.registry);
		return loader->reader.first;
	}
	*ret_registry = block.registry;
	return NULL;
}

static fw_error *load_document(struct loader *loader, yyjson_doc *doc,
			       fw_registry **ret_registry)
{
	fw_error *err;

	loader->array = yyjson_doc_get_root(doc);
	loader->count = yyjson_arr_size(loader->array);
	if (!yyjson_is_arr(loader->array))
		fw__row_fault(&loader->reader, "registry must be an array of rows, not %s",
			      fw__row_kind_of(loader->array));
	else if (loader->count > ROWS_MAX)
		fw__row_fault(&loader->reader, "registry has %zu rows; the limit is %d",
			      loader->count, ROWS_MAX);
	if (loader->reader.first)
		return loader->reader.first;
	err = load_rows(loader, ret_registry);
	fw__release(loader->rows);
	fw__release(loader->params);
	fw__release(loader->seen);
	return err;
}

fw_error *fw_registry_load(const char *json, size_t len, fw_registry_problem_fn *on_problem,
			   void *ctx, fw_registry **ret_registry)
{
	struct loader loader = { .reader = { .on_problem = on_problem, .ctx = ctx } };
	yyjson_read_err fault;
	yyjson_doc *doc;
	fw_error *err;

	if (len > BYTES_MAX)
		return fw_raise_input_too_large("registry", BYTES_MAX);
	doc = fw_json_read(json, len, (struct fw_json_limits){ .bytes = BYTES_MAX }, 0, NULL,
			   &fault);
	if (!doc && fault.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
		return fw_raise_internal_out_of_memory();
	if (!doc)
		return fw_raise_contract_not_json(fault.pos, fault.msg);
	err = load_document(&loader, doc, ret_registry);
	yyjson_doc_free(doc);
	return err;
}

void fw_registry_free(fw_registry *registry)
{
	if (registry != fw_registry_builtin())
		fw__release(registry);
}
