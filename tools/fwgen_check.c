/*
 * fwgen_check.c - checks the rules of the registry, across all rows.
 *
 * They are checked here and not in a test, because here a fault can be reported with
 * its line, and no build can ignore it.
 */
#include <stdlib.h>
#include <string.h>

#include "fwgen.h"

static int by_number(const void *left, const void *right)
{
	const struct row *const *a = left, *const *b = right;

	return (*a)->number < (*b)->number ? -1 : (*a)->number > (*b)->number;
}

static void check_unique(const struct registry *registry)
{
	for (size_t i = 0; i < registry->row_count; i++) {
		const struct row *row = registry->rows[i];

		for (size_t j = 0; j < i; j++) {
			const struct row *other = registry->rows[j];

			if (row->number == other->number)
				complain(row->file, row->line[KEY_CODE],
					 "number %d is taken by %s (%s:%u)", row->number,
					 other->code, other->file, other->line[KEY_CODE]);
			if (strcmp(row->code, other->code) == 0)
				complain(row->file, row->line[KEY_CODE],
					 "code %s is taken (%s:%u)", row->code, other->file,
					 other->line[KEY_CODE]);
			if (strcmp(row->text[KEY_PROSE], other->text[KEY_PROSE]) == 0)
				complain(row->file, row->line[KEY_PROSE],
					 "explanation is that of %s, word for word",
					 other->code);
		}
	}
}

/* ---- one row ---- */

static void check_retry(const struct row *row)
{
	bool transient = row->type == name_index(type_names, "TRANSIENT");
	bool backoff = row->retry == name_index(retry_names, "backoff");

	if (transient != row->recoverable)
		complain(row->file, row->line[KEY_RECOVERABLE],
			 "type TRANSIENT is recoverable and no other is, unless the raiser "
			 "says so");
	if (backoff && !transient)
		complain(row->file, row->line[KEY_CLASS],
			 "only type TRANSIENT may be retried with backoff");
}

static const struct param *find_param(const struct row *row, const char *name, size_t len)
{
	for (size_t i = 0; i < row->param_count; i++) {
		if (strlen(row->params[i].name) == len &&
		    memcmp(row->params[i].name, name, len) == 0)
			return &row->params[i];
	}
	return NULL;
}

static void check_template(const struct row *row)
{
	const char *message = row->text[KEY_MESSAGE];
	unsigned line = row->line[KEY_MESSAGE];
	bool used[PARAMS_MAX] = { false };

	for (const char *at = message; (at = strpbrk(at, "{}")); at++) {
		size_t len = strcspn(at + 1, "{}");
		const struct param *param;

		if (*at == '}' || at[1 + len] != '}') {
			complain(row->file, line, "a brace in the message has no counterpart");
			return;
		}
		param = find_param(row, at + 1, len);
		if (!param) {
			complain(row->file, line,
				 "message names {%.*s}, which is not a parameter", (int)len,
				 at + 1);
		} else {
			used[param - row->params] = true;
			if (param->optional)
				complain(row->file, line,
					 "message names {%s}, which may be left out",
					 param->name);
		}
		at += len + 1;
	}
	for (size_t i = 0; i < row->param_count; i++) {
		if (row->params[i].message_only && !used[i])
			complain(row->file, row->line[KEY_PARAMS],
				 "parameter \"%s\" is for the message only, which does not "
				 "name it",
				 row->params[i].name);
	}
}

/* ---- rows and contracts ---- */

static const struct contract_code *find_code(const struct registry *registry,
					     enum contract contract, const char *code)
{
	for (size_t i = 0; i < registry->code_count; i++) {
		if (registry->codes[i].contract == contract &&
		    strcmp(registry->codes[i].code, code) == 0)
			return &registry->codes[i];
	}
	return NULL;
}

/* In contracts.txt a code may be followed by facts about it. */
static void check_facts(const struct row *row, const struct contract_code *code)
{
	const char *facts[FACTS_MAX] = {
		row->text[KEY_STATUS],
		category_names[row->category],
		row->retry == name_index(retry_names, "backoff") ? "true" : "false",
		severity_names[row->severity],
	};
	static const char *const names[FACTS_MAX] = { "status", "category", "retryable",
						      "severity" };

	for (size_t i = 0; i < code->fact_count; i++) {
		if (strcmp(facts[i], code->facts[i]) != 0)
			complain(row->file, row->line[KEY_CODE],
				 "%s says %s %s for %s, this row %s",
				 contract_names[code->contract], names[i], code->facts[i],
				 code->code, facts[i]);
	}
}

static void check_projections(const struct registry *registry, const struct row *row)
{
	static const struct {
		enum contract contract;
		enum key key;
	} closed[] = { { KAIZA, KEY_KAIZA }, { CONTEXT_V0, KEY_CONTEXT_V0 } };

	for (size_t i = 0; i < sizeof closed / sizeof *closed; i++) {
		enum contract contract = closed[i].contract;

		if (!find_code(registry, contract, row->code_in[contract]))
			complain(row->file, row->line[closed[i].key],
				 "%s has no code \"%s\" (registry/contracts.txt)",
				 contract_names[contract], row->code_in[contract]);
	}
	for (int contract = 0; contract < CONTRACT_COUNT; contract++) {
		const struct contract_code *code =
			find_code(registry, (enum contract)contract, row->code_in[contract]);

		if (code)
			check_facts(row, code);
	}
}

/* A code of a contract must be read as exactly one row. The set of codeintel is
 * open, so this also holds for the codes that rows define. */
static void check_read_once(const struct registry *registry, const struct row *row,
			    enum contract contract)
{
	const char *code = row->code_in[contract];

	if (!(row->reads & 1u << contract))
		return;
	for (size_t i = 0; registry->rows[i] != row; i++) {
		const struct row *other = registry->rows[i];

		if (other->reads & 1u << contract &&
		    strcmp(other->code_in[contract], code) == 0)
			complain(row->file,
				 row->line[row->line[KEY_READS] ? KEY_READS : KEY_CODE],
				 "%s code \"%s\" is read as %s already (%s:%u)",
				 contract_names[contract], code, other->code, other->file,
				 other->line[KEY_CODE]);
	}
}

static void check_covered(const struct registry *registry, const struct contract_code *code)
{
	size_t projected = 0, read = 0;

	for (size_t i = 0; i < registry->row_count; i++) {
		const struct row *row = registry->rows[i];

		if (strcmp(row->code_in[code->contract], code->code) == 0) {
			projected++;
			read += (row->reads >> code->contract) & 1;
		}
	}
	if (projected == 0)
		complain(code->file, code->line, "no row is called %s in %s", code->code,
			 contract_names[code->contract]);
	else if (read == 0 && code->contract != OWLCLAW)
		complain(code->file, code->line, "no row reads %s code %s",
			 contract_names[code->contract], code->code);
}

const struct row *row_reader(const struct registry *registry, const struct row *row,
			     enum contract contract)
{
	for (size_t i = 0; i < registry->row_count; i++) {
		const struct row *reader = registry->rows[i];

		if (reader->reads & 1u << contract &&
		    strcmp(reader->code_in[contract], row->code_in[contract]) == 0)
			return reader;
	}
	return NULL;
}

static void check_codeintel_is_read(const struct registry *registry, const struct row *row)
{
	if (!row_reader(registry, row, CODEINTEL))
		complain(row->file, row->line[KEY_CODEINTEL],
			 "no row reads codeintel code \"%s\"", row->code_in[CODEINTEL]);
}

/*
 * A reader of a code that several rows share cannot tell which of them was written. So
 * that reading never makes an error more retryable, the code is read as the least
 * retryable class of all of them. The classes are listed from the least to the most
 * retryable.
 */
static void lower_retry(const struct registry *registry, struct row *row)
{
	for (int contract = 0; contract < CONTRACT_COUNT; contract++) {
		row->read_retry[contract] = row->retry;
		for (size_t i = 0; i < registry->row_count; i++) {
			const struct row *other = registry->rows[i];

			if (contract != OWLCLAW &&
			    strcmp(other->code_in[contract], row->code_in[contract]) == 0 &&
			    other->retry < row->read_retry[contract])
				row->read_retry[contract] = other->retry;
		}
	}
}

/* ---- the lock ---- */

static void check_lock(struct registry *registry, const struct lock *lock)
{
	struct row *by_code = NULL, *of_number = NULL;

	for (size_t i = 0; i < registry->row_count; i++) {
		if (strcmp(registry->rows[i]->code, lock->code) == 0)
			by_code = registry->rows[i];
		if (registry->rows[i]->number == lock->number)
			of_number = registry->rows[i];
	}
	if (by_code && by_code->number != lock->number)
		complain(by_code->file, by_code->line[KEY_CODE],
			 "%s was released as number %d (%s:%u)", lock->code, lock->number,
			 lock->file, lock->line);
	else if (!by_code && of_number)
		complain(of_number->file, of_number->line[KEY_CODE],
			 "number %d was released as %s (%s:%u)", lock->number, lock->code,
			 lock->file, lock->line);
	else if (!by_code)
		complain(lock->file, lock->line,
			 "%s was released and has vanished: retire it instead", lock->code);
	else if (strcmp(by_code->text[KEY_SINCE], lock->since) != 0)
		complain(by_code->file, by_code->line[KEY_SINCE],
			 "%s was released in %s (%s:%u)", lock->code, lock->since, lock->file,
			 lock->line);

	if (by_code) {
		by_code->retired = lock->retired;
		by_code->replaced_by = lock->replaced_by;
	}
	for (const struct lock *other = registry->locks; other < lock; other++) {
		if (other->number == lock->number || strcmp(other->code, lock->code) == 0)
			complain(lock->file, lock->line, "locked already in line %u",
				 other->line);
	}
}

void registry_check(struct registry *registry)
{
	check_unique(registry); /* in the order of reading, so that the later one is
				 * reported */
	if (registry->row_count)
		qsort(registry->rows, registry->row_count, sizeof *registry->rows, by_number);
	for (size_t i = 0; i < registry->row_count; i++) {
		const struct row *row = registry->rows[i];

		check_retry(row);
		check_template(row);
		check_projections(registry, row);
		for (int contract = 0; contract < CONTRACT_COUNT; contract++)
			check_read_once(registry, row, (enum contract)contract);
		check_codeintel_is_read(registry, row);
		row_check_words(row);
		lower_retry(registry, registry->rows[i]);
	}
	for (size_t i = 0; i < registry->code_count; i++)
		check_covered(registry, &registry->codes[i]);
	for (size_t i = 0; i < registry->lock_count; i++)
		check_lock(registry, &registry->locks[i]);
}
