/*
 * reserve.c - lists file reservations, and releases them in place of their holders.
 *
 * It uses the store directly, while servers may use it, too.
 */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <faultwire/faultwire.h>

#include "base/clock.h"
#include "cli/state.h"
#include "cli/terminal/output.h"
#include "cli/terminal/report.h"
#include "cli/terminal/text.h"
#include "store/store.h"
#include "tools/reserve/book.h"

enum { LIST, RELEASE };
enum { AGENT, JSON, STORE };

enum { ROWS_BYTES = 1 << 26 };

static const cli_option options[] = {
	[AGENT] = { "agent", "NAME", 'a', CLI_TEXT,
		    "list: only those of this agent. release: all those of this agent." },
	[JSON] = { "json", NULL, 'j', CLI_NOTHING, "Print JSON." },
	[STORE] = { "store", "FILE|URL", 0, CLI_FILE,
		    "Store to use; by default the one that faultwire serve uses." },
};

/* ---- list ---------------------------------------------------------------------------- */

struct table {
	const struct fw_reservation **rows;
	size_t count;
	size_t room;
	size_t id, agent, pattern; /* widths */
	bool is_full;              /* no memory */
};

static size_t wider(size_t width, const char *text)
{
	size_t columns = cli_columns(text);

	return columns > width ? columns : width;
}

static bool collect(void *ctx, const struct fw_reservation *held)
{
	struct table *table = ctx;

	if (table->count == table->room) {
		size_t room = table->room ? 2 * table->room : 64;
		const struct fw_reservation **rows = realloc(table->rows, room * sizeof *rows);

		table->is_full = !rows;
		if (!rows)
			return false;
		table->rows = rows;
		table->room = room;
	}
	table->rows[table->count++] = held;
	table->agent = wider(table->agent, held->agent);
	table->pattern = wider(table->pattern, held->pattern);
	return true;
}

/* What expires first comes first. */
static int by_expiry(const void *a, const void *b)
{
	const struct fw_reservation *x = *(const struct fw_reservation *const *)a;
	const struct fw_reservation *y = *(const struct fw_reservation *const *)b;

	if (x->expires_ms != y->expires_ms)
		return x->expires_ms < y->expires_ms ? -1 : 1;
	return strcmp(x->id, y->id);
}

static void put_cell(const char *text, size_t width)
{
	char harmless[160];

	cli_make_harmless(text, harmless, sizeof harmless);
	cli_cell(harmless, width + 2);
}

static void put_table(const struct table *table)
{
	cli_cell("EXPIRES (UTC)", 21);
	cli_cell("RESERVATION", table->id + 2);
	cli_cell("AGENT", table->agent + 2);
	cli_cell("PATTERN", table->pattern + 2);
	cli_cell("KIND", 11);
	cli_puts("REASON\n");
	for (size_t i = 0; i < table->count; i++) {
		const struct fw_reservation *row = table->rows[i];
		char when[FW_TIME_SIZE] = "";

		(void)fw_time_text(row->expires_ms, when);
		when[10] = ' ';
		when[19] = '\0';
		cli_cell(when, 21);
		put_cell(row->id, table->id);
		put_cell(row->agent, table->agent);
		put_cell(row->pattern, table->pattern);
		cli_cell(row->is_exclusive ? "exclusive" : "shared", 11);
		cli_put_harmless(row->reason);
		cli_putc('\n');
	}
}

static void put_json(const struct table *table)
{
	struct fw_buf out;

	cli_putc('[');
	for (size_t i = 0; i < table->count; i++) {
		fw_buf_init(&out, ROWS_BYTES);
		fw_reserve_put(&out, table->rows[i]);
		cli_puts(i ? ",\n" : "\n");
		if (out.state == FW_BUF_OK)
			cli_put_json(out.text, out.len);
		fw_buf_clear(&out);
	}
	cli_puts("\n]\n");
}

static fw_error *list(const cli_args *args, struct fw_reserve_book *book,
		      struct fw_store *store)
{
	struct table table = { .id = FW_RESERVE_ID_SIZE - 1, .agent = 5, .pattern = 7 };
	fw_error *err = NULL;

	if (store)
		err = fw_reserve_list(book, store, args->values[AGENT], collect, &table);
	if (!err && table.is_full)
		err = fw_raise_internal_out_of_memory();
	if (!err) {
		if (table.count)
			qsort(table.rows, table.count, sizeof *table.rows, by_expiry);
		if (cli_given(args, JSON))
			put_json(&table);
		else if (table.count)
			put_table(&table);
		else
			cli_remark("no reservations");
	}
	free(table.rows);
	return err;
}

/* ---- release --------------------------------------------------------------------------- */

static fw_error *release_agent(const cli_args *args, struct fw_reserve_book *book,
			       struct fw_store *store)
{
	struct fw_buf ids;
	fw_error *err;

	fw_buf_init(&ids, ROWS_BYTES);
	if (!store) {
		FW_BUF(&ids, "[]");
		err = NULL;
	} else {
		err = fw_reserve_release_all(book, store, args->values[AGENT], &ids);
	}
	if (!err) {
		cli_puts("{\"released\":");
		cli_put_json(ids.text, ids.len);
		cli_puts("}\n");
	}
	fw_buf_clear(&ids);
	return err;
}

static fw_error *release(const cli_args *args, struct fw_reserve_book *book,
			 struct fw_store *store)
{
	const char *const *ids = (const char *const *)args->operands + 1;
	size_t count = args->operand_count - 1;

	if (cli_given(args, AGENT))
		return release_agent(args, book, store);
	if (!store)
		return fw_raise_reservation_not_found(ids[0]);
	FW_TRY(fw_reserve_release(book, store, NULL, ids, count));
	for (size_t i = 0; i < count; i++)
		cli_remark("released %s", ids[i]);
	return NULL;
}

/* ---- the command ------------------------------------------------------------------------- */

static fw_error *check(const cli_args *args, bool *ret_releases)
{
	*ret_releases = args->action == RELEASE;
	if (args->action == LIST)
		return args->operand_count == 1 ? NULL
						: cli_usage("faultwire reserve list takes no "
							    "operand; found \"%s\"",
							    args->operands[1]);
	if ((args->operand_count > 1) == cli_given(args, AGENT))
		return cli_usage("faultwire reserve release takes ids, or --agent NAME");
	if (args->operand_count - 1 > FW_RESERVE_PATTERNS)
		return cli_usage("faultwire reserve release takes at most %d ids",
				 FW_RESERVE_PATTERNS);
	return NULL;
}

static int run(const cli_args *args)
{
	struct fw_reserve_book *book = NULL;
	struct fw_store *store = NULL;
	bool releases;
	fw_error *err = check(args, &releases);

	if (!err)
		err = cli_store_open(args->values[STORE], "store.db", !releases, &store);
	if (!err) {
		book = fw_reserve_book_new(NULL);
		if (!book)
			err = fw_raise_internal_out_of_memory();
		else
			err = releases ? release(args, book, store) : list(args, book, store);
	}
	fw_reserve_book_free(book);
	fw_store_free(store);
	return err ? cli_fail(err) : CLI_DONE;
}

static const cli_example examples[] = {
	{ "Who holds which files:", "faultwire reserve list" },
	{ "Release what an agent that has crashed still holds:",
	  "faultwire reserve release --agent agent-2" },
	{ NULL, NULL },
};

static const char *const action_words[] = { [LIST] = "list", [RELEASE] = "release", NULL };

const cli_command cli_command_reserve = {
	.name = "reserve",
	.summary = "list or release file reservations of agents",
	.synopsis = "list [OPTION]... | release ID... | release --agent NAME",
	.description =
		"Shows the reservations that agents hold by the toolset reserve, those that "
		"expire first at the top, and releases them in place of their holders. release "
		"ends all of the given reservations, or none if one of them does not exist.\n"
		"\n"
		"The store may be used while servers use it; they see a release with the next "
		"call.",
	CLI_OPTIONS(options),
	.actions = action_words,
	.operands = CLI_TEXT,
	.examples = examples,
	.run = run,
};
