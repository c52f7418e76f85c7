/*
 * lookup.h - finds the row of a code of any contract, a name in C, or a number.
 */
#ifndef FW_CLI_COMMANDS_LOOKUP_H
#define FW_CLI_COMMANDS_LOOKUP_H

#include <stddef.h>

#include <faultwire/faultwire.h>

typedef struct cli_meaning {
	fw_contract contract; /* the contract of the code */
	const fw_row *row;    /* the row that it is read as */
} cli_meaning;

/**
 * The meanings of `code` in `contract`; FW_AUTO: in all contracts, best match first.
 * Returns their number. No row appears twice.
 */
size_t cli_lookup(const fw_registry *registry, const char *code, fw_contract contract,
		  cli_meaning ret_meanings[FW_CONTRACT_COUNT]);

/** registry.code_unregistered, with similar codes as the hint. */
FW_NODISCARD fw_error *cli_lookup_failed(const fw_registry *registry, const char *code,
					 fw_contract contract);

/** What to do about an error of this retry class, in one or two sentences. */
const char *cli_retry_advice(fw_retry retry);

#endif
