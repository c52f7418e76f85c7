/*
 * link_child.c - a link to a child process, with one message per line on its standard
 * input and output.
 */
#include <string.h>

#include <faultwire/raise.h>

#include "base/mem.h"
#include "client/link_impl.h"
#include "io/child.h"

struct child_link {
	struct fw_link base;
	struct fw_child *child;
	bool is_ended; /* the link has ended; the process may exit by itself */
};

static void on_line(void *ctx, const char *text, size_t len)
{
	struct child_link *link = ctx;

	/* Some programs end lines with CR LF. */
	if (len && text[len - 1] == '\r')
		len--;
	if (len)
		link->base.on.message(link->base.ctx, 0, text, len);
}

static void on_broken(void *ctx, const char *text, size_t len, bool is_too_long)
{
	struct child_link *link = ctx;

	link->base.on.noise(link->base.ctx, 0, is_too_long ? FW_LINK_TOO_LARGE : FW_LINK_CUT,
			    text, len);
}

static void on_partial(void *ctx, const char *text, size_t len)
{
	struct child_link *link = ctx;

	link->base.on.partial(link->base.ctx, text, len);
}

static void on_unsent(void *ctx, uint64_t from)
{
	struct child_link *link = ctx;

	link->base.on.unsent(link->base.ctx, from);
}

static void on_closed(void *ctx)
{
	struct child_link *link = ctx;
	const struct fw_link_ending ending = { .how = FW_LINK_CLOSED };

	link->base.on.ended(link->base.ctx, &ending);
}

static void on_exited(void *ctx, int status, int signum)
{
	struct child_link *link = ctx;
	const struct fw_link_ending ending = { .how = signum ? FW_LINK_CRASHED : FW_LINK_EXITED,
					       .status = status,
					       .signum = signum };

	link->base.on.ended(link->base.ctx, &ending);
}

static fw_error *send_line(struct fw_link *base, const struct fw_link_message *message)
{
	struct child_link *link = (struct child_link *)base;
	fw_error *err = NULL;

	switch (fw_child_send(link->child, message->text, message->len)) {
	case FW_CHILD_SENT: return NULL;
	case FW_CHILD_FULL:
		err = fw_raise_upstream_busy(base->target->name);
		fw_error_set_retry_after(err, 1);
		break;
	case FW_CHILD_BROKEN: err = fw_raise_transport_broken_pipe(base->target->name); break;
	case FW_CHILD_NO_MEMORY: err = fw_raise_internal_out_of_memory(); break;
	}
	fw_error_set_delivery(err, FW_NOT_SENT);
	return err;
}

static uint64_t accepted_by(const struct fw_link *base)
{
	return fw_child_accepted(((const struct child_link *)base)->child);
}

static void free_link(struct fw_link *base)
{
	struct child_link *link = (struct child_link *)base;

	if (link->is_ended)
		fw_child_retire(link->child);
	else
		fw_child_free(link->child);
	fw__release(link);
}

static void end_link(struct fw_link *base)
{
	((struct child_link *)base)->is_ended = true;
}

static struct fw_slice partial_of(const struct fw_link *base)
{
	struct fw_slice text = { NULL, 0 };

	text.p = fw_child_partial(((const struct child_link *)base)->child, &text.n);
	return text;
}

static void drop_partial(struct fw_link *base)
{
	fw_child_drop_partial(((struct child_link *)base)->child);
}

static size_t errors_of(const struct fw_link *base, char *ret_text, size_t size)
{
	return fw_child_stderr(((const struct child_link *)base)->child, ret_text, size);
}

fw_error *fw_link__open_child(struct fw_loop *loop, const struct fw_link *base,
			      struct fw_link **ret_link)
{
	static const struct fw_link_ops ops = {
		.free = free_link,
		.send = send_line,
		.accepted = accepted_by,
		.end = end_link,
		.partial = partial_of,
		.drop_partial = drop_partial,
		.errors = errors_of,
	};
	struct child_link *link = fw__allocate(sizeof *link);
	struct fw_child_options options = {
		.argv = base->target->argv,
		.environment = base->target->environment,
		.directory = base->target->directory,
		.ruleset = base->target->ruleset,
		.line_max = base->message_bytes,
		.on = { on_line, on_broken, on_closed, on_exited, on_unsent, on_partial },
	};
	fw_error *err;

	if (!link)
		return fw_raise_internal_out_of_memory();
	*link = (struct child_link){ .base = *base };
	link->base.ops = &ops;
	options.ctx = link;
	err = fw_child_start(loop, &options, &link->child);
	if (err) {
		fw__release(link);
		return fw_link_raise_not_started(base->target->name, fw_error_message(err), err,
						 false);
	}
	*ret_link = &link->base;
	return NULL;
}
