/*
 * input.h - files and standard input, whole or line by line, never more in
 * memory than a limit says.
 */
#ifndef FW_CLI_TERMINAL_INPUT_H
#define FW_CLI_TERMINAL_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/faultwire.h>

enum {
	CLI_ERROR_MAX = 1 << 20,    /* one error, or one line: what the library reads */
	CLI_REGISTRY_MAX = 16 << 20 /* a file of rows */
};

typedef struct cli_input {
	const char *name; /* as shown to people: borrowed */
	int fd;
	size_t limit; /* bytes of a text or a line */
	char *buf;
	size_t cap;
	size_t start; /* first byte not handed out yet */
	size_t end;   /* behind the last byte read */
	bool at_end;
	uint64_t line;             /* number of the line last handed out, from 1 */
	uint64_t consumed;         /* bytes handed out */
	uint64_t size;             /* of a regular file; 0: not known */
	void (*before_read)(void); /* called before a read that may block */
} cli_input;

/**
 * Open `path`, or standard input for NULL and "-". cli_input_close() it also
 * after a failure. Raises what fw_error_from_errno() does.
 */
FW_NODISCARD fw_error *cli_input_open(cli_input *in, const char *path, size_t limit);
void cli_input_close(cli_input *in);

/**
 * All of it but a line end behind it, NUL-terminated; borrowed from `in`.
 * Raises input.too_large too.
 */
FW_NODISCARD fw_error *cli_input_all(cli_input *in, const char **ret_text, size_t *ret_len);

/**
 * The next line without its end (LF or CR LF), borrowed until the next call.
 * `*ret_text` is NULL at the end of the input.
 *
 * Raises input.too_large for a line over the limit, whose rest is passed over:
 * `in->line` then counts it and the next call goes on behind it. After any
 * other error there is nothing more to read: in->at_end is set.
 */
FW_NODISCARD fw_error *cli_input_line(cli_input *in, const char **ret_text, size_t *ret_len);

/** Open, read all, close. The text is yours, for free(). */
FW_NODISCARD fw_error *cli_read_file(const char *path, size_t limit, char **ret_text,
				     size_t *ret_len);

/**
 * The first line of a file, without its newline. Raises what fopen() meets, and
 * input.invalid_value if the line is empty or does not fit; `option` names the file.
 */
FW_NODISCARD fw_error *cli_read_first_line(const char *path, const char *option, char *ret_line,
					   size_t size);

#endif
