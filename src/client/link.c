/*
 * link.c - see link.h. This file has what both kinds of links share. The kinds are in
 * link_child.c and link_http.c.
 */
#include "client/link.h"

#include <string.h>

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#include "base/limits.h"
#include "client/link_impl.h"

fw_error *fw_link_open(struct fw_loop *loop, struct fw_fetcher *fetcher,
		       const struct fw_link_target *target,
		       const struct fw_link_callbacks *callbacks, void *ctx,
		       struct fw_link **ret_link)
{
	const struct fw_link base = { .target = target,
				      .on = *callbacks,
				      .ctx = ctx,
				      .message_bytes = target->message_bytes
							       ? target->message_bytes
							       : FW_LIMIT_CHILD_LINE_BYTES };

	if (target->argv)
		return fw_link__open_child(loop, &base, ret_link);
	return fw_link__open_http(loop, fetcher, &base, ret_link);
}

void fw_link_free(struct fw_link *link)
{
	if (link)
		link->ops->free(link);
}

fw_error *fw_link_send(struct fw_link *link, const struct fw_link_message *message)
{
	return link->ops->send(link, message);
}

uint64_t fw_link_accepted(const struct fw_link *link)
{
	return link->ops->accepted ? link->ops->accepted(link) : 0;
}

void fw_link_abort(struct fw_link *link, uint64_t key)
{
	if (link->ops->abort)
		link->ops->abort(link, key);
}

void fw_link_listen(struct fw_link *link)
{
	if (link->ops->listen)
		link->ops->listen(link);
}

void fw_link_end(struct fw_link *link)
{
	link->ops->end(link);
}

bool fw_link_is_http(const struct fw_link *link)
{
	return !link->target->argv;
}

void fw_link_set_version(struct fw_link *link, const char *version, bool is_modern)
{
	if (fw_link_is_http(link))
		fw_link__set_version(link, version, is_modern);
}

void fw_link_forget_session(struct fw_link *link)
{
	if (fw_link_is_http(link))
		fw_link__forget_session(link);
}

uint64_t fw_link_session(const struct fw_link *link)
{
	return fw_link_is_http(link) ? fw_link__session(link) : 0;
}

struct fw_slice fw_link_partial(const struct fw_link *link)
{
	return link->ops->partial ? link->ops->partial(link) : (struct fw_slice){ NULL, 0 };
}

void fw_link_drop_partial(struct fw_link *link)
{
	if (link->ops->drop_partial)
		link->ops->drop_partial(link);
}

size_t fw_link_stderr(const struct fw_link *link, char *ret_text, size_t size)
{
	if (size)
		ret_text[0] = '\0';
	return link->ops->errors ? link->ops->errors(link, ret_text, size) : 0;
}

fw_error *fw_link_raise_ending(const struct fw_link *link, const struct fw_link_ending *ending,
			       fw_delivery delivery)
{
	const char *name = link->target->name;
	char text[FW_LIMIT_CHILD_STDERR_BYTES];
	fw_error *err = NULL;

	switch (ending->how) {
	case FW_LINK_EXITED: err = fw_raise_upstream_exited(name, ending->status); break;
	case FW_LINK_CRASHED: {
		const char *signal = fw_signal_name(ending->signum);

		err = fw_raise_upstream_crashed(name, signal ? signal : "a signal");
		break;
	}
	case FW_LINK_CLOSED: err = fw_raise_upstream_closed(name); break;
	}
	fw_error_set_delivery(err, delivery);
	if (!fw_link_stderr(link, text, sizeof text))
		return err;
	fw_error_set_detail(err, text);
	if (link->target->ruleset &&
	    (strcasestr(text, "permission denied") || strstr(text, "EACCES")))
		fw_error_set_hint(
			err, "The program ended after a file was refused to it, perhaps by "
			     "the sandbox. Its standard error, in the incident and in "
			     "the log, names the file; permit it with --sandbox-read or "
			     "--sandbox-write.");
	return err;
}

static bool has_field(const fw_error *err, const char *name)
{
	fw_field field;

	return err && fw_error_find_field(err, name, &field);
}

/* True: another attempt would fail in the same way. There is no such program, it cannot
 * be run, its output is not lines, or there is no MCP server at the URL. Any other answer
 * of a server does not show that the failure is permanent. */
static bool is_permanent(const fw_error *cause)
{
	if (has_field(cause, FW_LINK_FRAMING) || has_field(cause, FW_LINK_ENDPOINT))
		return true;
	if (!cause || fw_error_delivery(cause) == FW_REPLIED)
		return false;
	switch (fw_error_code(cause)) {
	case FW_FILE_NOT_FOUND:
	case FW_FILE_READ_FAILED:
	case FW_PATH_NOT_FOUND:
	case FW_PATH_INVALID:
	case FW_AUTH_INSUFFICIENT_PERMISSIONS: return true;
	default: return false;
	}
}

fw_error *fw_link_raise_not_started(const char *name, const char *reason, fw_error *cause,
				    bool has_succeeded)
{
	/* While a server is replaced or under maintenance, the answer looks like that of
	 * a wrong URL. */
	bool is_away = has_succeeded && has_field(cause, FW_LINK_ENDPOINT);
	fw_error *err = is_permanent(cause) && !is_away
				? fw_raise_upstream_cannot_start(name, reason)
				: fw_raise_upstream_start_failed(name, reason);

	fw_error_set_delivery(err, FW_NOT_SENT);
	if (cause)
		fw_error_set_detail(err, fw_error_detail(cause));
	/* The hint of this failure is more specific than that of the code. */
	if (is_away)
		fw_error_set_hint(err,
				  "Try again later: the server was at this URL before, and "
				  "may be restarting.");
	else if (cause && strcmp(fw_error_hint(cause), fw_error_row(cause)->hint) != 0)
		fw_error_set_hint(err, fw_error_hint(cause));
	else if (cause && fw_error_detail(cause) && fw_error_code(cause) == FW_UPSTREAM_EXITED)
		fw_error_set_hint(err,
				  "The program ended before it answered. Read the end of its "
				  "standard error, which is in the incident and in the log, "
				  "and correct its command or environment.");
	return fw_error_caused_by(err, cause);
}
