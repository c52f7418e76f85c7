/*
 * remote_framing.c - recognises programs whose output has messages, but not as one UTF-8
 * line each.
 *
 * The usual mistakes are few: UTF-16, lines that end with CR or NUL or not at all,
 * headers as language servers send them, indented JSON, and compressed output. No line of
 * such output is a valid reply, so every call would fail at its deadline. The replies can
 * still be recognised, so the call fails at once, with a hint that names the mistake.
 * They are not used as replies, because other clients cannot read them either.
 */
#include <string.h>

#include <faultwire/raise.h>

#include "base/ascii.h"
#include "base/text.h"
#include "client/remote_impl.h"

enum {
	NARROWED_BYTES = 4096, /* part of a UTF-16 message that is searched for its id */
	SHORTEST_REPLY = sizeof "{\"id\":1}" - 1,
	FOUND_MOST = 16 /* replies in one unfinished line */
};

/* Members of an indented message that were seen, one per line. */
enum { HAS_VERSION = 1, HAS_ID = 2, HAS_OUTCOME = 4, HAS_ALL = 7 };

static const char utf16[] = "UTF-16";
static const char ends_in_cr[] = "CR line ends";
static const char ends_in_nul[] = "NUL line ends";
static const char no_newline[] = "no newline";
static const char has_headers[] = "Content-Length headers";
static const char many_lines[] = "several lines";
static const char compressed[] = "compression";

static const char *hint_of(const char *reason)
{
	static const struct {
		const char *reason, *hint;
	} hints[] = {
		{ utf16, "Report this to the operator: the upstream writes UTF-16, as a "
			 "redirect in a Windows shell does; the protocol is UTF-8." },
		{ ends_in_cr, "Report this to the operator: the upstream ends its lines with "
			      "CR; the protocol ends each message with LF." },
		{ ends_in_nul, "Report this to the operator: the upstream ends messages with a "
			       "NUL byte; the protocol ends each message with LF." },
		{ no_newline, "Report this to the operator: the upstream writes messages "
			      "without a newline; the protocol ends each message with LF." },
		{ has_headers, "Report this to the operator: the upstream sends Content-Length "
			       "headers, as language servers do; the protocol has one message "
			       "per line and no headers." },
		{ many_lines, "Report this to the operator: the upstream writes indented JSON; "
			      "the protocol has one message per line." },
		{ compressed, "Report this to the operator: the upstream compresses its "
			      "output; the protocol is plain text, one message per line." },
	};

	for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
		if (hints[i].reason == reason)
			return hints[i].hint;
	return NULL;
}

fw_error *fw_remote__raise_garbled(const struct fw_remote *remote, const char *reason)
{
	fw_error *err = fw_raise_upstream_garbled(remote->options.target.name, 0);
	const char *hint = hint_of(reason);

	fw_error_add_string(err, hint ? FW_LINK_FRAMING : "reason", reason);
	fw_error_set_delivery(err, hint ? FW_REPLIED : FW_SENT);
	if (hint)
		fw_error_set_hint(err, hint);
	return err;
}

static void fail(struct fw_remote *remote, uint64_t id, const char *reason)
{
	struct fw_remote_pending *pending = fw_remote__find(remote, id);

	if (pending)
		fw_remote__finish(remote, pending, NULL,
				  fw_remote__raise_garbled(remote, reason));
}

/* Finds which outstanding request a message replies to. */
static bool find_id(const struct fw_remote *remote, const struct fw_scan *scan,
		    uint64_t *ret_id)
{
	unsigned long long id;

	if (scan->method.p || !fw_slice_u64(scan->id, &id) || !fw_remote__find(remote, id))
		return false;
	*ret_id = id;
	return true;
}

/* ---- UTF-16 ----------------------------------------------------------------------- */

/* Copies the ASCII characters of a text that begins like UTF-16 (or UTF-32). 0: it does not. */
static size_t narrow(const char *text, size_t len, char *ret_text, size_t size)
{
	size_t put = 0;

	if (len < SHORTEST_REPLY || !memchr(text, '\0', 4))
		return 0;
	for (size_t i = 0; i < len && put < size; i++)
		if (text[i] != '\0' && (put || (text[i] != '\xff' && text[i] != '\xfe')))
			ret_text[put++] = text[i];
	return put && ret_text[0] == '{' ? put : 0;
}

static bool find_wide(const struct fw_remote *remote, const char *text, size_t len,
		      uint64_t *ret_id)
{
	char narrowed[NARROWED_BYTES];
	struct fw_scan scan;
	size_t most = narrow(text, len, narrowed, sizeof narrowed);

	if (!most)
		return false;
	(void)fw_slice_scan(narrowed, most, remote->options.depth, &scan);
	return find_id(remote, &scan, ret_id);
}

bool fw_remote__take_wide(struct fw_remote *remote, const char *text, size_t len)
{
	uint64_t id;

	if (!find_wide(remote, text, len, &id))
		return false;
	fail(remote, id, utf16);
	return true;
}

/* ---- lines that belong together --------------------------------------------------- */

/* The number in `"id": 7,`. */
static bool read_id(struct fw_text line, unsigned long long *ret_id)
{
	struct fw_slice value = { line.p + 5, line.n - 5 };

	while (value.n && *value.p == ' ') {
		value.p++;
		value.n--;
	}
	if (value.n && value.p[value.n - 1] == ',')
		value.n--;
	return fw_slice_u64(value, ret_id);
}

/* Which member of an indented message begins on this line; 0: none of interest. Nested
 * members are recognised by their deeper indentation. */
static unsigned read_member(struct fw_remote *remote, struct fw_text line)
{
	unsigned long long id;
	size_t depth = 0;

	while (depth < line.n && fw_is_blank(line.p[depth]))
		depth++;
	if (!depth)
		remote->indented = 0;
	if (!depth || !remote->indented_depth)
		remote->indented_depth = depth;
	if (!depth || depth != remote->indented_depth)
		return 0;
	line.p += depth;
	line.n -= depth;
	if (fw_text_starts(line, "\"jsonrpc\":"))
		return HAS_VERSION;
	if (fw_text_starts(line, "\"result\":") || fw_text_starts(line, "\"error\":"))
		return HAS_OUTCOME;
	if (!fw_text_starts(line, "\"id\":") || !read_id(line, &id))
		return 0;
	remote->indented_id = id;
	return HAS_ID;
}

/* A line of an indented message: true if the lines so far show that it is a reply to the
 * request `remote->indented_id`. */
static bool is_indented_reply(struct fw_remote *remote, struct fw_text line)
{
	unsigned member = read_member(remote, line);

	remote->indented |= member;
	return member && remote->indented == HAS_ALL &&
	       fw_remote__find(remote, remote->indented_id);
}

/* ---- compressed output ------------------------------------------------------------- */

/* No text begins with these bytes. Of zlib, only its usual and its best level are known. */
static bool starts_compressed(struct fw_text text)
{
	static const char *const starts[] = {
		"\x1f\x8b\x08",     /* gzip */
		"\x28\xb5\x2f\xfd", /* zstd */
		"\x78\x9c",
		"\x78\xda",
	};

	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if (fw_text_starts(text, starts[i]))
			return true;
	return false;
}

/* Only the beginning of a stream can be recognised, and all output may be one stream. */
static bool is_compressed(struct fw_remote *remote, struct fw_text text)
{
	remote->is_compressed = remote->is_compressed || starts_compressed(text);
	return remote->is_compressed;
}

/* ---- lines of a message ------------------------------------------------------------- */

const char *fw_remote__framing(struct fw_remote *remote, const struct fw_remote_pending *only,
			       struct fw_text line, uint64_t *ret_id)
{
	if (is_indented_reply(remote, line)) {
		*ret_id = remote->indented_id;
		return many_lines;
	}
	if (is_compressed(remote, line) && only) {
		*ret_id = only->id;
		return compressed;
	}
	if (only && fw_text_starts(line, "Content-Length:")) {
		*ret_id = only->id;
		return has_headers;
	}
	return NULL;
}

/* ---- lines that do not end -------------------------------------------------------- */

void fw_remote__partial(void *ctx, const char *text, size_t len)
{
	struct fw_remote *remote = ctx;
	const struct fw_remote_pending *only = fw_remote__only_one(remote);
	char last = text[len - 1];

	if (remote->alarm_ms || !remote->outstanding)
		return;
	if (is_compressed(remote, (struct fw_text){ text, len })) {
		if (only)
			fw_remote__sound(remote, compressed, only->id);
		return;
	}
	if (len < SHORTEST_REPLY || !(last == '}' || last == '\r' || last == '\0'))
		return;
	/* The newline may still follow. */
	remote->alarm = NULL;
	remote->alarm_ms = uv_now(&remote->loop->uv) + FW_LIMIT_NO_NEWLINE_MS;
	fw_remote__watch(remote, remote->alarm_ms);
}

/* The replies in an unfinished line. */
static size_t find_replies(const struct fw_remote *remote, struct fw_slice rest,
			   uint64_t *ret_ids, size_t most)
{
	const char *end = rest.p + rest.n;
	const char *at = rest.p;
	struct fw_scan scan;
	size_t count = 0;

	while (at < end && count < most && (at = memchr(at, '{', (size_t)(end - at)))) {
		(void)fw_slice_scan(at, (size_t)(end - at), remote->options.depth, &scan);
		if (scan.status == FW_SCAN_CUT)
			break;
		if (find_id(remote, &scan, &ret_ids[count]))
			count++;
		if (scan.status == FW_SCAN_OK)
			break;
		at += scan.position ? scan.position : 1;
	}
	return count;
}

void fw_remote__check_partial(struct fw_remote *remote)
{
	uint64_t ids[FOUND_MOST];
	struct fw_slice rest = { NULL, 0 };
	const char *reason;
	size_t count;

	if (remote->link)
		rest = fw_link_partial(remote->link);
	if (!rest.n)
		return;
	if (find_wide(remote, rest.p, rest.n, ids)) {
		count = 1;
		reason = utf16;
	} else {
		count = find_replies(remote, rest, ids, FOUND_MOST);
		reason = rest.p[rest.n - 1] == '\r'   ? ends_in_cr
			 : rest.p[rest.n - 1] == '\0' ? ends_in_nul
						      : no_newline;
	}
	if (!count)
		return;
	fw_link_drop_partial(remote->link);
	/* If this ends the handshake, the link may be closed, but the remote is not freed. */
	for (size_t i = 0; i < count; i++)
		fail(remote, ids[i], reason);
}
