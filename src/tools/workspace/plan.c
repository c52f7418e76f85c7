/*
 * plan.c - see plan.h. A header with a duplicate field is refused: it could be read in
 * two ways, and a person approved only one of them.
 */
#include "tools/workspace/plan.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "tools/common/glob.h"

static const char opening[] = "<!--";
static const char closing[] = "-->";

static bool is(struct fw_ws_span span, const char *word)
{
	return span.len == strlen(word) && memcmp(span.text, word, span.len) == 0;
}

static struct fw_ws_span trim(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	while (end > at && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	return (struct fw_ws_span){ at, (size_t)(end - at) };
}

struct line {
	const char *start;
	const char *end;  /* end of the text */
	const char *next; /* after the newline */
};

static struct line line_at(const char *at, const char *end)
{
	const char *newline = memchr(at, '\n', (size_t)(end - at));

	return (struct line){ at, newline ? newline : end, newline ? newline + 1 : end };
}

/* Splits "KEY: value". The key has length 0 if the line is not of that form. */
static struct fw_ws_span key_of(struct line line, struct fw_ws_span *ret_value)
{
	const char *colon = memchr(line.start, ':', (size_t)(line.end - line.start));

	if (!colon)
		return (struct fw_ws_span){ line.start, 0 };
	*ret_value = trim(colon + 1, line.end);
	return trim(line.start, colon);
}

static bool fault(char *to, unsigned line, const char *what)
{
	(void)snprintf(to, FW_WS_FAULT_SIZE, "line %u: %s", line, what);
	return false;
}

static bool read_scope(struct fw_ws_plan *plan, struct fw_ws_span value, unsigned number,
		       char *ret_fault)
{
	const char *at = value.text;
	const char *end = at + value.len;

	while (at < end) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		struct fw_ws_span glob = trim(at, comma ? comma : end);
		const char *wrong = fw_glob_fault(glob.text, glob.len);

		if (wrong) {
			(void)snprintf(ret_fault, FW_WS_FAULT_SIZE,
				       "line %u: glob \"%.*s\" of SCOPE is wrong: %s", number,
				       (int)(glob.len < 60 ? glob.len : 60), glob.text, wrong);
			return false;
		}
		if (plan->scope_count == FW_WS_SCOPES)
			return fault(ret_fault, number, "SCOPE has more than 64 globs");
		plan->scopes[plan->scope_count++] = glob;
		at = comma ? comma + 1 : end;
	}
	return plan->scope_count || fault(ret_fault, number, "SCOPE is empty");
}

static bool read_field(struct fw_ws_plan *plan, struct fw_ws_span key, struct fw_ws_span value,
		       unsigned number, char *ret_fault)
{
	struct fw_ws_span *slot = is(key, "KAIZA_PLAN_HASH") ? &plan->hash
				  : is(key, "ROLE")          ? &plan->role
				  : is(key, "STATUS")        ? &plan->status
				  : is(key, "SIGNATURE")     ? &plan->signature
							     : NULL;

	if (is(key, "SCOPE")) {
		if (plan->scope_count)
			return fault(ret_fault, number, "SCOPE occurs twice");
		return read_scope(plan, value, number, ret_fault);
	}
	if (!slot)
		return true; /* other fields are allowed; the hash covers them */
	if (slot->text)
		return fault(ret_fault, number, "a field occurs twice");
	if (!value.len)
		return fault(ret_fault, number, "a field is empty");
	*slot = value;
	return true;
}

static bool check_fields(struct fw_ws_plan *plan, char *ret_fault)
{
	if (!plan->hash.text)
		return fault(ret_fault, 1, "KAIZA_PLAN_HASH is missing");
	if (!is(plan->hash, "PENDING_HASH") &&
	    !fw_sha256_is_text(plan->hash.text, plan->hash.len))
		return fault(ret_fault, 1,
			     "KAIZA_PLAN_HASH is neither PENDING_HASH nor 64 digits");
	if (!plan->role.text)
		return fault(ret_fault, 1, "ROLE is missing");
	if (!is(plan->role, "ANTIGRAVITY"))
		return fault(ret_fault, 1, "ROLE is not ANTIGRAVITY: that role writes plans");
	if (!plan->status.text)
		return fault(ret_fault, 1, "STATUS is missing");
	plan->is_approved = is(plan->status, "APPROVED");
	if (!plan->is_approved && !is(plan->status, "PENDING"))
		return fault(ret_fault, 1, "STATUS is neither PENDING nor APPROVED");
	if (!plan->scope_count)
		return fault(ret_fault, 1, "SCOPE is missing");
	return true;
}

static struct fw_ws_span find_title(const char *at, const char *end)
{
	while (at < end) {
		struct line line = line_at(at, end);

		if (line.end - line.start > 2 && line.start[0] == '#' && line.start[1] == ' ')
			return trim(line.start + 2, line.end);
		at = line.next;
	}
	return (struct fw_ws_span){ end, 0 };
}

static bool has_cr(struct line line)
{
	return line.end > line.start && line.end[-1] == '\r';
}

/* Writes a line with another value; everything else is unchanged. */
static void put_line(struct fw_buf *out, struct line line, struct fw_ws_span value,
		     const char *word)
{
	const char *rest = value.text + value.len;

	fw_buf_put(out, line.start, (size_t)(value.text - line.start));
	fw_buf_str(out, word);
	fw_buf_put(out, rest, (size_t)(line.next - rest));
}

/* Writes the text with another hash and status, and with or without the signature
 * line. */
static void rewrite(const char *text, size_t len, const char *hash, const char *status,
		    const char *signature, struct fw_buf *out)
{
	const char *end = text + len;
	const char *at = text;

	while (at < end) {
		struct line line = line_at(at, end);
		struct fw_ws_span value = { NULL, 0 };
		struct fw_ws_span key = key_of(line, &value);
		bool is_last = is(trim(line.start, line.end), closing);

		if (is_last && signature) {
			FW_BUF(out, "SIGNATURE: ");
			fw_buf_str(out, signature);
			fw_buf_str(out, has_cr(line) ? "\r\n" : "\n");
		}
		if (is(key, "KAIZA_PLAN_HASH"))
			put_line(out, line, value, hash);
		else if (is(key, "STATUS"))
			put_line(out, line, value, status);
		else if (!is(key, "SIGNATURE"))
			fw_buf_put(out, line.start, (size_t)(line.next - line.start));
		at = line.next;
		if (is_last)
			break;
	}
	fw_buf_put(out, at, (size_t)(end - at));
}

bool fw_ws_plan_read(const char *text, size_t len, struct fw_ws_plan *ret_plan,
		     char ret_fault[FW_WS_FAULT_SIZE])
{
	const char *end = text + len;
	struct line line;
	struct fw_buf normal;
	unsigned number = 1;
	bool is_closed = false;

	memset(ret_plan, 0, sizeof *ret_plan);
	ret_plan->text = text;
	ret_plan->len = len;
	ret_fault[0] = '\0';
	if (len > FW_WS_PLAN_BYTES)
		return fault(ret_fault, 1, "plan is larger than 256 KiB");
	if (fw_utf8_valid(text, len) != len)
		return fault(ret_fault, 1, "plan is not UTF-8");
	line = line_at(text, end);
	if (!is(trim(line.start, line.end), opening))
		return fault(ret_fault, 1, "plan does not begin with a line \"<!--\"");
	while (!is_closed && line.next < end) {
		struct fw_ws_span value = { NULL, 0 };
		struct fw_ws_span key;

		line = line_at(line.next, end);
		number++;
		is_closed = is(trim(line.start, line.end), closing);
		key = key_of(line, &value);
		if (!is_closed && key.len &&
		    !read_field(ret_plan, key, value, number, ret_fault))
			return false;
	}
	if (!is_closed)
		return fault(ret_fault, number, "the header is not closed by a line \"-->\"");
	if (!check_fields(ret_plan, ret_fault))
		return false;
	ret_plan->title = find_title(line.next, end);
	fw_buf_init(&normal, 2 * (size_t)FW_WS_PLAN_BYTES);
	rewrite(text, len, "PENDING_HASH", "PENDING", NULL, &normal);
	if (normal.state == FW_BUF_OK)
		fw_sha256_text(normal.text, normal.len, ret_plan->computed);
	fw_buf_clear(&normal);
	return ret_plan->computed[0] || fault(ret_fault, 1, "out of memory");
}

void fw_ws_plan_write(const struct fw_ws_plan *plan, const char *hash, const char *status,
		      const char *signature, struct fw_buf *out)
{
	rewrite(plan->text, plan->len, hash, status, signature, out);
}

bool fw_ws_plan_sign(const struct fw_ws_plan *plan, const struct fw_ws_key *key,
		     const char *workspace, char ret_hex[FW_SHA256_TEXT])
{
	char text[64 + 1 + 4096 + 32];
	int len = snprintf(text, sizeof text, "%.64s\n%s", plan->computed, workspace);

	return len > 0 && (size_t)len < sizeof text &&
	       fw_ws_key_sign(key, FW_WS_SIGN_PLAN, text, (size_t)len, ret_hex);
}

/* Why the signature is not valid in this workspace; NULL if it is. */
static const char *verify_signature(const struct fw_ws_plan *plan, const struct fw_ws_key *key,
				    const char *workspace)
{
	const struct fw_ws_span *signature = &plan->signature;
	char expected[FW_SHA256_TEXT];

	if (fw_ws_plan_sign(plan, key, workspace, expected) &&
	    fw_ws_key_is_signature(signature->text, signature->len, expected))
		return NULL;
	if (fw_ws_key_sign(key, FW_WS_SIGN_PLAN_UNBOUND, plan->computed, 64, expected) &&
	    fw_ws_key_is_signature(signature->text, signature->len, expected))
		return "an older version approved it, for any workspace; a person has to "
		       "approve it again (faultwire plan approve)";
	return "its signature does not verify; an approval is valid only in the workspace that "
	       "it was given for, and not after that directory was moved or created again: "
	       "a person has to approve it here (faultwire plan approve)";
}

const char *fw_ws_plan_verify(const struct fw_ws_plan *plan, const char *name,
			      const struct fw_ws_key *key, const char *workspace)
{
	if (!is(plan->hash, plan->computed))
		return "its hash does not match its content";
	if (!is(plan->hash, name))
		return "it is saved under a hash that is not its own";
	if (!plan->is_approved)
		return plan->signature.len ? "it is pending but has a signature" : NULL;
	if (!plan->signature.len)
		return "it claims to be approved but has no signature";
	if (!key->is_set)
		return "this server has no key to check its signature with";
	return verify_signature(plan, key, workspace);
}

bool fw_ws_plan_covers(const struct fw_ws_plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->scope_count; i++)
		if (fw_glob_match(plan->scopes[i].text, plan->scopes[i].len, path))
			return true;
	return false;
}
