/*
 * lookup.c - see lookup.h.
 *
 * Contracts have no codes in common, except that owlclaw uses the canonical ones. So
 * there is usually one result, and the order matters only for users' own rows.
 */
#include "cli/commands/lookup.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "cli/terminal/suggest.h"

/* "2511" */
static const fw_row *by_number(const fw_registry *registry, const char *text)
{
	int number = 0;

	if (!*text)
		return NULL;
	for (; *text; text++) {
		if (!isdigit((unsigned char)*text) || number > 99999999)
			return NULL;
		number = number * 10 + (*text - '0');
	}
	return fw_registry_number(registry, number);
}

/* "FW_FILE_NOT_FOUND" */
static const fw_row *by_c_name(const fw_registry *registry, const char *text)
{
	const fw_row *row;

	if (strncmp(text, "FW_", 3) != 0)
		return NULL;
	text += 3;
	for (size_t i = 0; (row = fw_registry_at(registry, i)); i++) {
		size_t at = 0;

		while (row->code[at] &&
		       text[at] == (row->code[at] == '.'
					    ? '_'
					    : toupper((unsigned char)row->code[at])))
			at++;
		if (!row->code[at] && !text[at])
			return row;
	}
	return NULL;
}

static const fw_row *in_contract(const fw_registry *registry, const char *code,
				 fw_contract contract)
{
	const fw_row *row = fw_registry_read(registry, contract, code);

	if (contract == FW_CANONICAL)
		row = fw_registry_find(registry, code);
	/* A code that is written but never read: the first row that is written so. */
	for (size_t i = 0; !row && fw_registry_at(registry, i); i++)
		if (strcmp(fw_row_code_in(fw_registry_at(registry, i), contract), code) == 0)
			row = fw_registry_at(registry, i);
	return row;
}

size_t cli_lookup(const fw_registry *registry, const char *code, fw_contract contract,
		  cli_meaning ret_meanings[FW_CONTRACT_COUNT])
{
	const fw_row *row = NULL;
	size_t count = 0;

	if (contract != FW_AUTO) {
		row = in_contract(registry, code, contract);
		if (row)
			ret_meanings[0] = (cli_meaning){ contract, row };
		return row != NULL;
	}

	row = by_number(registry, code);
	if (!row)
		row = by_c_name(registry, code);
	if (row)
		ret_meanings[count++] = (cli_meaning){ FW_CANONICAL, row };
	for (fw_contract c = FW_CANONICAL; c < FW_CONTRACT_COUNT; c++) {
		bool seen = false;

		row = in_contract(registry, code, c);
		for (size_t i = 0; i < count; i++)
			seen = seen || ret_meanings[i].row == row;
		if (row && !seen && count < FW_CONTRACT_COUNT)
			ret_meanings[count++] = (cli_meaning){ c, row };
	}
	return count;
}

fw_error *cli_lookup_failed(const fw_registry *registry, const char *code, fw_contract contract)
{
	fw_error *err = fw_raise_registry_code_unregistered(code);
	cli_suggestions close = { .wanted = code, .wanted_len = strlen(code) };
	const fw_row *row;

	if (contract != FW_AUTO)
		err = fw_error_wrap(err, FW_HERE, "contract %s has no code %s",
				    fw_contract_name(contract), code);
	for (size_t i = 0; (row = fw_registry_at(registry, i)); i++)
		for (fw_contract c = FW_CANONICAL; c < FW_CONTRACT_COUNT; c++)
			if (contract == FW_AUTO || contract == c)
				cli_suggest(&close, fw_row_code_in(row, c));
	cli_suggestions_hint(&close, err);
	return err;
}
