/*
 * incident_record.h - an incident as bytes, in memory and in a file: numbers, then texts,
 * with the length and a sum of all of it.
 *
 * The one rule to remember: secrets are redacted when a record is made, so a record may be
 * written to a disk as it is.
 */
#ifndef FW_OBSERVE_INCIDENT_RECORD_H
#define FW_OBSERVE_INCIDENT_RECORD_H

#include "base/buf.h"
#include "store/incident_row.h"

#include <faultwire/contract.h>

/* Appends a record of the incident with the error `err`, which is kept in its canonical
 * form with the contract in which the client got it; incident->error is not used. */
void fw_incident_record_put(struct fw_buf *out, struct fw_incident *incident,
			    const fw_error *err, fw_contract contract);

/* The number of the record that begins with these bytes; 0: none does. */
enum { FW_INCIDENT_RECORD_LEAST = 40 };
uint64_t fw_incident_record_number(const char *bytes, size_t len);

/* Reads records one after the other. Set `at` and `left`, and `writer`. */
struct fw_incident_records {
	const char *at;
	size_t left;
	int64_t writer;
	uint64_t last; /* number of the record before; the next one must be higher */
	uint64_t count;
};

/* A fw_incident_next_fn with a struct fw_incident_records; `incident` borrows from the
 * bytes. False at the end, and at a record that is cut off, changed or out of order: it is
 * where a killed machine stopped writing, or the rest of an older file. */
bool fw_incident_record_next(void *ctx, struct fw_incident *ret_incident);

#endif
