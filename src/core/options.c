/*
 * options.c - reads an option struct of a caller that may be older or newer.
 *
 * Every member is aligned to its own size, so a prefix whose size is a multiple of a
 * pointer's never ends within a member.
 */
#include "core/options.h"

#include <faultwire/raise.h>
#include <stdio.h>
#include <string.h>

static fw_error *refuse(const char *function, size_t given, size_t size)
{
	char text[160];

	if (given == 0)
		return fw_raise_internal_api_misuse(
			function,
			"struct_size is 0: initialize options with their _INIT macro");
	if (given > size)
		(void)snprintf(text, sizeof(text),
			       "struct_size is %zu and this library knows %zu bytes: the "
			       "program was compiled for a newer version",
			       given, size);
	else
		(void)snprintf(text, sizeof(text),
			       "struct_size is %zu, which no version of the options had",
			       given);
	return fw_raise_internal_api_misuse(function, text);
}

fw_error *fw_options_read_other(const char *function, const void *given, void *options,
				size_t size)
{
	size_t given_size;

	memcpy(&given_size, given, sizeof(given_size));
	if (given_size == 0 || given_size > size || given_size % sizeof(void *) != 0)
		return refuse(function, given_size, size);
	memcpy(options, given, given_size);
	memcpy(options, &size, sizeof(size));
	return NULL;
}
