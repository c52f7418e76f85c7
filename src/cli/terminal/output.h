/*
 * output.h - standard output, behind one buffer.
 *
 * Writers return nothing: the first failure sticks, with its errno, and
 * cli_output_end() tells it. A loop that runs for long asks
 * cli_output_failed() now and then, and stops.
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

/** The first character of `text` as \u and four digits, or two of these. */
void cli_put_escaped(const char *text, size_t len);

/**
 * JSON. On a terminal what it must not show (see base/printable.h) is escaped,
 * which leaves the JSON the same; elsewhere it goes out byte for byte.
 */
void cli_put_json(const char *text, size_t len);

/** `err` in `contract`, and exactly one newline behind it. */
void cli_put_error(const fw_error *err, fw_contract contract, const fw_encode_options *options);

/** Hand on what is in the buffer. */
void cli_output_flush(void);
bool cli_output_failed(void);
/** Forget what is in the buffer; what was handed on is gone. */
void cli_output_drop(void);

/**
 * Flush, close, and say how it all went: the error is the caller's. A reader
 * that went away is not told: `*ret_gone` is set and there is no error.
 */
FW_NODISCARD fw_error *cli_output_end(bool *ret_gone);

#endif
