/*
 * lookup.h - from whatever somebody calls an error to its row: a code of any
 * contract, a name in C, a number.
 */
#ifndef FW_CLI_COMMANDS_LOOKUP_H
#define FW_CLI_COMMANDS_LOOKUP_H

#include <stddef.h>

#include <faultwire/faultwire.h>

typedef struct cli_meaning {
	fw_contract contract; /* whose code it is */
	const fw_row *row;    /* what it is read as */
} cli_meaning;

/**
 * What `code` means in `contract`; FW_AUTO: in all of them, strongest first.
 * Returns how many answers there are. No row is answered twice.
 */
size_t cli_lookup(const fw_registry *registry, const char *code, fw_contract contract,
		  cli_meaning ret_meanings[FW_CONTRACT_COUNT]);

/** registry.code_unregistered, with the nearest codes as its hint. */
FW_NODISCARD fw_error *cli_lookup_failed(const fw_registry *registry, const char *code,
					 fw_contract contract);

/** What to do about an error of that class, in a sentence or two. */
const char *cli_retry_advice(fw_retry retry);

#endif
