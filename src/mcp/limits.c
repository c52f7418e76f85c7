/*
 * limits.c - the limits of a server, by name: see base/limits.h.
 */
#include <stddef.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/limits.h"
#include "mcp/server.h"
#include "mcp/transport.h"

static const fw_limit rows[] = {
#define ROW(name, value, least, most, summary) { #name, value, least, most, summary },
	FW_LIMITS(ROW)
#undef ROW
};

enum { COUNT = sizeof rows / sizeof *rows };

/* Each limit has one member of the same type, in the same order. */
_Static_assert(sizeof(struct fw_limits) == COUNT * sizeof(uint64_t), "limits are numbers");

const fw_limit *fw_limit_at(size_t index)
{
	return index < COUNT ? &rows[index] : NULL;
}

const struct fw_limits *fw_server__limits(const fw_server *server)
{
	return &server->limits;
}

fw_error *fw_server_set_limit(fw_server *server, const char *name, uint64_t value)
{
	size_t i = 0;

	if (!server || !name)
		return fw_raise_internal_api_misuse("fw_server_set_limit", "NULL argument");
	/* By then transports have allocated their buffers. */
	if (server->transports || server->state != FW_IDLE)
		return fw_raise_internal_api_misuse("fw_server_set_limit",
						    "limits are set before listening");
	while (i < COUNT && strcmp(rows[i].name, name) != 0)
		i++;
	if (i == COUNT)
		return fw_raise_input_invalid_value("limit", "the name of a limit");
	if (value < rows[i].least || value > rows[i].most) {
		char expected[96];

		(void)snprintf(expected, sizeof expected, "a number from %llu to %llu",
			       (unsigned long long)rows[i].least,
			       (unsigned long long)rows[i].most);
		return fw_raise_input_invalid_value(name, expected);
	}
	memcpy((char *)&server->limits + i * sizeof value, &value, sizeof value);
	server->out.max = server->limits.result_bytes + FW_LIMIT_ENVELOPE_BYTES;
	return NULL;
}
