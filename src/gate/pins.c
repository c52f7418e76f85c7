/*
 * pins.c - see pins.h.
 *
 * Pins are in a linked list with linear search, because tools are listed rarely. A file
 * is written to a temporary name and renamed, so that it is never half written.
 */
#include "gate/pins.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <yyjson.h>

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#include "base/digest.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "gate/gate_impl.h"
#include "observe/log/log.h"

enum { PINS_BYTES = 16 * 1024 * 1024, PINS_MOST = 65536, HASH_SIZE = 7 + 64 + 1 };

struct pin {
	struct pin *next;
	char *upstream;
	char *tool;
	char hash[HASH_SIZE];
};

struct fw_pins {
	char *file; /* NULL: none */
	struct pin *first;
	size_t count;
	bool is_changed; /* changed since the file was written */
};

static struct pin *find(const struct fw_pins *pins, const char *upstream, const char *tool)
{
	struct pin *pin = pins->first;

	while (pin &&
	       (strcmp(pin->upstream, upstream) != 0 || (tool && strcmp(pin->tool, tool) != 0)))
		pin = pin->next;
	return pin;
}

static void pin_free(struct pin *pin)
{
	fw__release(pin->upstream);
	fw__release(pin->tool);
	fw__release(pin);
}

/* False: no memory, or too many pins. */
static bool add(struct fw_pins *pins, const char *upstream, const char *tool, const char *hash)
{
	struct pin *pin = pins->count < PINS_MOST ? fw__allocate(sizeof *pin) : NULL;

	if (!pin)
		return false;
	memset(pin, 0, sizeof *pin);
	pin->upstream = fw_strdup(upstream);
	pin->tool = fw_strdup(tool);
	(void)snprintf(pin->hash, sizeof pin->hash, "%s", hash);
	if (!pin->upstream || !pin->tool) {
		pin_free(pin);
		return false;
	}
	pin->next = pins->first;
	pins->first = pin;
	pins->count++;
	return true;
}

/* ---- the file ---------------------------------------------------------------------- */

static fw_error *read_upstream(struct fw_pins *pins, const char *upstream, yyjson_val *tools)
{
	yyjson_obj_iter iter = yyjson_obj_iter_with(tools);
	yyjson_val *key;

	if (!upstream || !yyjson_is_obj(tools))
		return fw_raise_upstream_config_invalid(pins->file,
							"an upstream must be an object");
	while ((key = yyjson_obj_iter_next(&iter))) {
		const char *tool = fw_text_str(fw_text_of(key));
		const char *hash = fw_text_str(fw_text_of(yyjson_obj_iter_get_val(key)));

		if (!tool || !hash || strlen(hash) != HASH_SIZE - 1)
			return fw_raise_upstream_config_invalid(
				pins->file, "a pin must be \"sha256:\" and 64 digits");
		if (!add(pins, upstream, tool, hash))
			return fw_raise_internal_out_of_memory();
	}
	return NULL;
}

static fw_error *parse(struct fw_pins *pins, const char *text, size_t len)
{
	yyjson_read_err fault = { 0 };
	yyjson_doc *doc = fw_json_read(text, len, (struct fw_json_limits){ PINS_BYTES, 4 },
				       YYJSON_READ_NOFLAG, NULL, &fault);
	yyjson_val *root = yyjson_doc_get_root(doc);
	yyjson_obj_iter iter = yyjson_obj_iter_with(root);
	yyjson_val *key;
	fw_error *err = NULL;

	if (fault.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
		err = fw_raise_internal_out_of_memory();
	else if (!yyjson_is_obj(root))
		err = fw_raise_upstream_config_invalid(pins->file, "it is not a JSON object");
	while (!err && (key = yyjson_obj_iter_next(&iter)))
		err = read_upstream(pins, fw_text_str(fw_text_of(key)),
				    yyjson_obj_iter_get_val(key));
	yyjson_doc_free(doc);
	return err;
}

static fw_error *load(struct fw_pins *pins)
{
	int fd = open(pins->file, O_RDONLY | O_CLOEXEC);
	int errnum = errno;
	struct stat status;
	char *text = NULL;
	ssize_t got = -1;
	fw_error *err;

	if (fd < 0)
		return errnum == ENOENT ? NULL
					: fw_error_from_errno(FW_HERE, errnum, pins->file);
	if (fstat(fd, &status) != 0 || status.st_size >= PINS_BYTES) {
		(void)close(fd);
		return fw_raise_upstream_config_invalid(pins->file, "it cannot be read");
	}
	text = fw__allocate((size_t)status.st_size + 1);
	if (text)
		got = read(fd, text, (size_t)status.st_size);
	(void)close(fd);
	if (!text)
		err = fw_raise_internal_out_of_memory();
	else if (got < 0)
		err = fw_raise_upstream_config_invalid(pins->file, "it cannot be read");
	else
		err = parse(pins, text, (size_t)got);
	fw__release(text);
	return err;
}

static void put_pins(const struct fw_pins *pins, struct fw_buf *out)
{
	FW_BUF(out, "{");
	for (const struct pin *at = pins->first; at; at = at->next) {
		/* The first pin of an upstream writes all pins of that upstream. */
		const struct pin *pin = find(pins, at->upstream, NULL);

		if (pin != at)
			continue;
		fw_buf_str(out, out->len > 1 ? ",\n  " : "\n  ");
		fw_buf_json_str(out, at->upstream);
		FW_BUF(out, ": {");
		for (; pin; pin = pin->next) {
			if (strcmp(pin->upstream, at->upstream) != 0)
				continue;
			fw_buf_str(out, out->len && out->text[out->len - 1] == '{' ? "\n    "
										   : ",\n    ");
			fw_buf_json_str(out, pin->tool);
			FW_BUF(out, ": ");
			fw_buf_json_str(out, pin->hash);
		}
		FW_BUF(out, "\n  }");
	}
	FW_BUF(out, "\n}\n");
}

/* False: it could not be written. */
static bool write_file(const char *path, const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool is_written;

	if (fd < 0)
		return false;
	is_written = write(fd, text, len) == (ssize_t)len && fsync(fd) == 0;
	return close(fd) == 0 && is_written;
}

static void save(struct fw_pins *pins)
{
	struct fw_buf out;
	char path[4096];
	int len = snprintf(path, sizeof path, "%s.new", pins->file);

	fw_buf_init(&out, PINS_BYTES);
	put_pins(pins, &out);
	if (out.state != FW_BUF_OK || len < 0 || (size_t)len >= sizeof path ||
	    !write_file(path, out.text, out.len) || rename(path, pins->file) != 0)
		fw_log_event(FW_LOG_ERROR, "gate", "pins_not_written",
			     (const fw_field[]){ fw_log_text("file", pins->file) }, 1);
	else
		pins->is_changed = false;
	fw_buf_clear(&out);
}

/* ---- lifecycle ------------------------------------------------------------------------ */

fw_error *fw_pins_new(const char *file, struct fw_pins **ret_pins)
{
	struct fw_pins *pins = fw__allocate(sizeof *pins);
	fw_error *err = NULL;

	if (!pins)
		return fw_raise_internal_out_of_memory();
	memset(pins, 0, sizeof *pins);
	if (file) {
		pins->file = fw_strdup(file);
		err = pins->file ? load(pins) : fw_raise_internal_out_of_memory();
	}
	if (err) {
		fw_pins_free(pins);
		return err;
	}
	*ret_pins = pins;
	return NULL;
}

void fw_pins_free(struct fw_pins *pins)
{
	if (!pins)
		return;
	while (pins->first) {
		struct pin *next = pins->first->next;

		pin_free(pins->first);
		pins->first = next;
	}
	fw__release(pins->file);
	fw__release(pins);
}

/* ---- tools --------------------------------------------------------------------------- */

/* A hash that is only compared within this process need not be cryptographic. */
static void put_hash(const struct fw_pins *pins, struct fw_slice item, char hash[HASH_SIZE])
{
	if (pins->file) {
		(void)snprintf(hash, HASH_SIZE, "sha256:");
		fw_sha256_text(item.p, item.n, hash + 7);
		return;
	}
	(void)snprintf(hash, HASH_SIZE, "%016llx",
		       (unsigned long long)fw_hash(item.p, item.n, 0));
}

static void report_change(struct fw_upstream *upstream, const char *tool, bool is_refused)
{
	const fw_field fields[] = { fw_log_text("upstream", upstream->entry->target.name),
				    fw_log_text("tool", tool) };

	upstream->changed_tools++;
	fw_log_event(FW_LOG_WARNING, "gate", is_refused ? "tool_refused" : "tool_changed",
		     fields, 2);
}

bool fw_pins_check(struct fw_upstream *upstream, const char *tool, struct fw_slice item)
{
	struct fw_pins *pins = upstream->gate->pins;
	const char *name = upstream->entry->target.name;
	struct pin *pin = find(pins, name, tool);
	char hash[HASH_SIZE];

	put_hash(pins, item, hash);
	if (!pin && (!pins->file || !upstream->is_pinned)) {
		pins->is_changed |= add(pins, name, tool, hash);
		return true;
	}
	if (pin && strcmp(pin->hash, hash) == 0)
		return true;
	report_change(upstream, tool, pins->file != NULL);
	if (pins->file)
		return false;
	(void)snprintf(pin->hash, sizeof pin->hash, "%s", hash);
	return true;
}

void fw_pins_listed(struct fw_upstream *upstream)
{
	struct fw_pins *pins = upstream->gate->pins;

	upstream->is_pinned = true;
	if (pins->file && pins->is_changed)
		save(pins);
}

bool fw_pins_has(const struct fw_pins *pins, const char *upstream)
{
	return pins->file && find(pins, upstream, NULL);
}
