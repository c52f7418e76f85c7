/*
 * input.h - reads files and standard input, completely or line by line, in bounded
 * memory.
 */
#ifndef FW_CLI_TERMINAL_INPUT_H
#define FW_CLI_TERMINAL_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/faultwire.h>

enum {
	CLI_ERROR_MAX = 1 << 20,    /* one error, or one line: the limit of the library */
	CLI_REGISTRY_MAX = 16 << 20 /* a file of rows */
};

typedef struct cli_input {
	const char *name; /* for messages; borrowed */
	int fd;
	size_t limit; /* bytes of a text or a line */
	char *buf;
	size_t cap;
	size_t start; /* first byte that was not returned yet */
	size_t end;   /* after the last byte read */
	bool at_end;
	uint64_t line;             /* number of the last line returned, from 1 */
	uint64_t consumed;         /* bytes returned */
	uint64_t size;             /* of a regular file; 0: not known */
	void (*before_read)(void); /* called before a read that may block */
} cli_input;

/**
 * Opens `path`, or standard input for NULL and "-". Call cli_input_close() even after a
 * failure. Raises what fw_error_from_errno() raises.
 */
FW_NODISCARD fw_error *cli_input_open(cli_input *in, const char *path, size_t limit);
void cli_input_close(cli_input *in);

/**
 * The complete input without a newline at its end, NUL-terminated; borrowed from `in`.
 * Also raises input.too_large.
 */
FW_NODISCARD fw_error *cli_input_all(cli_input *in, const char **ret_text, size_t *ret_len);

/**
 * The next line without its end (LF or CR LF), valid until the next call.
 * `*ret_text` is NULL at the end of the input.
 *
 * Raises input.too_large for a line over the limit; `in->line` counts it, and the next
 * call continues after it. After any other error in->at_end is set and there is nothing
 * more to read.
 */
FW_NODISCARD fw_error *cli_input_line(cli_input *in, const char **ret_text, size_t *ret_len);

/** Opens, reads and closes a file. The caller frees the text with free(). */
FW_NODISCARD fw_error *cli_read_file(const char *path, size_t limit, char **ret_text,
				     size_t *ret_len);

/**
 * The first line of a file, without its newline. Raises what fopen() meets, and
 * input.invalid_value if the line is empty or does not fit; `option` names the file.
 */
FW_NODISCARD fw_error *cli_read_first_line(const char *path, const char *option, char *ret_line,
					   size_t size);

#endif
