/*
 * pins.h - detects when an upstream changes the definition of a tool.
 *
 * The definition of a tool is text that a model reads and trusts. A server that changes
 * it after it was approved can give new instructions ("rug pull"), so each definition is
 * hashed when it is listed. A change is logged and counted; with a file of pins a tool
 * that differs from its pin is refused.
 *
 * The file is JSON: {"upstream": {"tool": "sha256:..."}}. An upstream that is not in it is
 * recorded when it is listed for the first time.
 */
#ifndef FW_GATE_PINS_H
#define FW_GATE_PINS_H

#include <stdbool.h>

#include <faultwire/error.h>

#include "rpc/scan.h"

struct fw_gate;
struct fw_pins;
struct fw_upstream;

/* With `file` NULL, changes are only logged and counted. A file that does not exist is
 * created with the first list. Raises upstream.config_invalid and the errors of reading a
 * file. */
fw_error *fw_pins_new(const char *file, struct fw_pins **ret_pins);
/* NULL is a no-op. */
void fw_pins_free(struct fw_pins *pins);

/* Checks one tool of a list; `item` is its definition. False: it is refused. */
bool fw_pins_check(struct fw_upstream *upstream, const char *tool, struct fw_slice item);
/* True: the file has pins for this upstream, so its new tools are refused, too. */
bool fw_pins_has(const struct fw_pins *pins, const char *upstream);
/* Called when the list of the upstream is complete: writes new pins to the file. */
void fw_pins_listed(struct fw_upstream *upstream);

#endif
