/*
 * fwgen_lost.c - generates the table of docs/contracts.md that says what is lost if an
 * error is written in a contract with few codes and read back.
 *
 * The rest of that file is written by hand, so only the part between two comments is
 * replaced.
 */
#include <stdlib.h>
#include <string.h>

#include "fwgen.h"

static const char begin_mark[] = "<!-- begin: made by tools/fwgen from registry/ -->\n";
static const char end_mark[] = "<!-- end: made by tools/fwgen -->\n";

static const enum contract shared[] = { KAIZA, CONTEXT_V0, CODEINTEL, TOOLERROR };

enum { SHARED = sizeof shared / sizeof *shared };

/* The class that `row` comes back with from its code alone. */
static int class_back(const struct registry *registry, const struct row *row,
		      enum contract contract)
{
	const struct row *reader = row_reader(registry, row, contract);

	return reader ? reader->read_retry[contract] : row->retry;
}

static void put_summary(struct text *out, const struct registry *registry)
{
	text_puts(out, "| contract | codes | come back as another code | with a less "
		       "retryable class | with a more retryable class |\n"
		       "|---|---|---|---|---|\n");
	for (size_t c = 0; c < SHARED; c++) {
		size_t other = 0, less = 0, more = 0;

		for (size_t i = 0; i < registry->row_count; i++) {
			const struct row *row = registry->rows[i];
			int back = class_back(registry, row, shared[c]);

			other += row_reader(registry, row, shared[c]) != row;
			less += back < row->retry;
			more += back > row->retry;
		}
		text_putf(out, "| %s | %zu | %zu | %zu | %zu |\n", contract_names[shared[c]],
			  registry->row_count, other, less, more);
	}
}

/* The codes that are written like `reader` but are not read as it. */
static size_t put_others(struct text *out, const struct registry *registry,
			 const struct row *reader, enum contract contract)
{
	size_t count = 0;

	for (size_t i = 0; i < registry->row_count; i++) {
		const struct row *row = registry->rows[i];

		if (row == reader || row_reader(registry, row, contract) != reader)
			continue;
		text_putf(out, "%s`%s`", count++ ? ", " : "", row->code);
		if (row->retry != reader->read_retry[contract])
			text_putf(out, " (%s)", retry_names[row->retry]);
	}
	return count;
}

static void put_contract(struct text *out, const struct registry *registry,
			 enum contract contract)
{
	text_putf(
		out,
		"\n### %s\n\n"
		"| code | read as | retry class | also written for (own class, if another) |\n"
		"|---|---|---|---|\n",
		contract_names[contract]);
	for (size_t i = 0; i < registry->row_count; i++) {
		const struct row *row = registry->rows[i];
		struct text others = { 0 };

		if (!(row->reads & 1u << contract))
			continue;
		if (put_others(&others, registry, row, contract) > 0) {
			text_putf(out, "| `%s` | `%s`", row->code_in[contract], row->code);
			if (row->retry != row->read_retry[contract])
				text_putf(out, " (%s)", retry_names[row->retry]);
			text_putf(out, " | %s | ", retry_names[row->read_retry[contract]]);
			text_put(out, others.bytes, others.len);
			text_puts(out, " |\n");
		}
		free(others.bytes);
	}
}

void write_lost(const struct registry *registry, const char *dir)
{
	struct text out = { 0 };
	const char *path = keep_format("%s/contracts.md", dir);
	const char *old = file_read(path);
	const char *begin = old ? strstr(old, begin_mark) : NULL;
	const char *end = begin ? strstr(begin, end_mark) : NULL;

	if (!old)
		return;
	if (!end)
		give_up("%s: the comments around the generated part are missing", path);
	text_put(&out, old, (size_t)(begin - old));
	text_puts(&out, begin_mark);
	put_summary(&out, registry);
	for (size_t c = 0; c < SHARED; c++)
		put_contract(&out, registry, shared[c]);
	text_puts(&out, end);
	text_write(&out, dir, "contracts.md");
}
