/*
 * output.h - buffered standard output.
 *
 * The functions return nothing: the first failure is kept, with its errno, and
 * cli_output_end() returns it. A long loop should call cli_output_failed() from time to
 * time, and stop.
 */
#ifndef FW_CLI_TERMINAL_OUTPUT_H
#define FW_CLI_TERMINAL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include <faultwire/faultwire.h>

void cli_put(const char *text, size_t len);
void cli_puts(const char *text);
void cli_putc(char c);
void cli_printf(const char *fmt, ...) FW_PRINTF(1, 2);
void cli_pad(size_t spaces);

/** The first character of `text` as a JSON escape, \uXXXX, or as a surrogate pair. */
void cli_put_escaped(const char *text, size_t len);

/**
 * Writes JSON. On a terminal, characters that are not printable (see base/printable.h)
 * are escaped, which does not change its meaning; elsewhere the bytes are unchanged.
 */
void cli_put_json(const char *text, size_t len);

/** Writes `err` in `contract`, followed by exactly one newline. */
void cli_put_error(const fw_error *err, fw_contract contract, const fw_encode_options *options);

/** Writes the buffer. */
void cli_output_flush(void);
bool cli_output_failed(void);
/** Discards the buffer. */
void cli_output_drop(void);

/**
 * Flushes and closes the output, and returns the first failure. If the reader has closed
 * the pipe, there is no error, and `*ret_gone` is set.
 */
FW_NODISCARD fw_error *cli_output_end(bool *ret_gone);

#endif
