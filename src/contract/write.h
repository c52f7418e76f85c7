/*
 * write.h - encoding an error into an fw_out, for the folders above: without a copy of
 * the options and without a buffer of its own.
 */
#ifndef FW_CONTRACT_WRITE_H
#define FW_CONTRACT_WRITE_H

#include <faultwire/contract.h>

struct fw_out;

/* As fw_error_encode(). Neither `err` nor `options` may be NULL. */
void fw_contract_write(struct fw_out *out, const fw_error *err, fw_contract contract,
		       const fw_encode_options *options);

/* Writes the error in toolerror as the content of a JSON string, without the quotes, in one
 * pass. */
void fw_toolerror_write_inside(struct fw_out *out, const fw_error *err);

#endif
