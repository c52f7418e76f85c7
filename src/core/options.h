/*
 * options.h - reads an option struct of a caller that may be older or newer.
 *
 * The first member of every public option struct is `size_t struct_size`
 * (<faultwire/base.h>). A function that takes such a struct reads it through
 * fw_options_read() and uses only the copy.
 *
 * The rule to remember: a new member goes to the end, and begins at or after the size
 * that the struct had in the last release. If the struct ended in padding, fill that
 * first with a reserved member: an old caller's padding has no defined value.
 */
#ifndef FW_CORE_OPTIONS_H
#define FW_CORE_OPTIONS_H

#include <faultwire/error.h>
#include <string.h>

/**
 * Copy `given` over `options`, which holds the defaults and has `size` bytes. Members
 * that the caller does not know keep their defaults. NULL: nothing is copied. Raises
 * internal.api_misuse, naming `function`, for a struct_size that no version of the
 * struct up to this one had; then only struct_size was read.
 */
FW_NODISCARD static inline fw_error *fw_options_read(const char *function, const void *given,
						     void *options, size_t size);

/* The same for a struct of another version, or of none. */
FW_NODISCARD fw_error *fw_options_read_other(const char *function, const void *given,
					     void *options, size_t size);

static inline fw_error *fw_options_read(const char *function, const void *given, void *options,
					size_t size)
{
	size_t given_size;

	if (!given)
		return NULL;
	memcpy(&given_size, given, sizeof(given_size));
	if (given_size != size)
		return fw_options_read_other(function, given, options, size);
	memcpy(options, given, size);
	return NULL;
}

#endif
