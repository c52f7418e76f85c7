/*
 * child_pipe.c - the lines that a child is sent and that it writes.
 *
 * Plain read() and write() on non-blocking pipes that uv_poll reports as ready. Output is
 * read into the buffer in which its lines are reported, so a large message is not copied, and
 * is searched for its newline once. A line for the child is written at once; lines that the
 * loop has more of (fw_loop.has_more) are put together and leave with one write before
 * the loop waits.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/plain_io.h"
#include "io/child_impl.h"

enum {
	READ_BYTES = 64 * 1024, /* the size of a pipe: a read of as much is worth another */
	READS = 32              /* at a time, so that other descriptors get their turn */
};

/* ---- standard output ---------------------------------------------------------- */

void fw_child__stop_output(struct fw_child *child)
{
	struct fw_child_output *out = &child->out;

	/* Also if it is closed already, because the input may be open still. */
	fw_linger_forget(&child->loop->linger, &out->reader);
	if (out->fd < 0)
		return;
	fw_child__close_handle((uv_handle_t *)&out->poll);
	(void)close(out->fd);
	out->fd = -1;
}

/* Reports the beginning of a line that is too long. */
static void drop_line(struct fw_child *child, const char *text, size_t len)
{
	child->on.broken(child->ctx, text,
			 len < child->out.line_max ? len : child->out.line_max, true);
}

static void take_line(struct fw_child *child, const char *text, size_t len)
{
	struct fw_child_output *out = &child->out;

	if (out->is_dropping)
		out->is_dropping = false;
	else if (len > out->line_max)
		drop_line(child, text, len);
	else
		child->on.line(child->ctx, text, len);
}

/* Reports the complete lines; the first `scanned` bytes have no newline. */
static void take_lines(struct fw_child *child, size_t scanned)
{
	struct fw_child_output *out = &child->out;
	struct fw_buf *lines = &out->lines;
	const char *at = lines->text;
	const char *end = lines->text + lines->len;
	const char *from = at + scanned;
	const char *newline;

	while (!child->is_freed && (newline = memchr(from, '\n', (size_t)(end - from)))) {
		take_line(child, at, (size_t)(newline - at));
		at = newline + 1;
		from = at;
	}
	lines->len = (size_t)(end - at);
	if (lines->len && at != lines->text)
		memmove(lines->text, at, lines->len);
	if (child->is_freed)
		return;
	if (!out->is_dropping && lines->len > out->line_max) {
		out->is_dropping = true;
		drop_line(child, lines->text, lines->len);
	}
	if (out->is_dropping)
		lines->len = 0;
	if (lines->len || lines->cap <= FW_LIMIT_CHILD_KEPT_BYTES)
		return;
	fw_buf_reset(lines, FW_LIMIT_CHILD_KEPT_BYTES);
	fw_loop_trim_later(child->loop);
}

/* A message fills the pipe: with a larger one the child writes on while we read. */
static void widen(struct fw_child_output *out)
{
	if (out->is_wide)
		return;
	out->is_wide = true;
	/* The user's limit for pipes may forbid it. */
	(void)fcntl(out->fd, F_SETPIPE_SZ, FW_CHILD_READ_MOST);
}

enum found {
	NOTHING,
	SOMETHING, /* and there is no more for now */
	MUCH       /* and there may be more */
};

/* One read, and the lines that it completes. */
static enum found read_output(struct fw_child *child)
{
	struct fw_child_output *out = &child->out;
	struct fw_buf *lines = &out->lines;
	size_t scanned = lines->len;
	size_t room;
	ssize_t got;
	int errnum;

	if (!fw_buf_reserve(lines, READ_BYTES)) {
		/* Without memory the line is lost. */
		if (!out->is_dropping)
			drop_line(child, lines->text ? lines->text : "", lines->len);
		out->is_dropping = true;
		fw_buf_clear(lines);
		return !child->is_freed && fw_buf_reserve(lines, READ_BYTES) ? MUCH : SOMETHING;
	}
	room = lines->cap - lines->len - 1;
	if (room > FW_CHILD_READ_MOST)
		room = FW_CHILD_READ_MOST;
	got = fw_plain_read(out->fd, lines->text + lines->len, room);
	errnum = errno;
	if (got > 0) {
		lines->len += (size_t)got;
		take_lines(child, scanned);
		if (got < READ_BYTES)
			return SOMETHING;
		if (!child->is_freed)
			widen(out);
		return MUCH;
	}
	if (got < 0 && (errnum == EAGAIN || errnum == EINTR))
		return NOTHING;
	fw_child__output_over(child);
	return SOMETHING;
}

/* False: there was nothing to read. */
static bool read_outputs(struct fw_child *child)
{
	enum found found = MUCH;
	int reads = 0;

	for (; found == MUCH && reads < READS && !child->is_freed && !child->out.is_over;
	     reads++)
		found = read_output(child);
	if (child->out.lines.len && !child->is_freed && !child->out.is_over &&
	    child->on.partial)
		child->on.partial(child->ctx, child->out.lines.text, child->out.lines.len);
	return reads > 1 || found != NOTHING;
}

static void on_output(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	(void)read_outputs(poll->data);
}

/* If the buffer has no room, the loop reads when there is a line: without memory it is lost. */
static bool on_expected(struct fw_reader *reader)
{
	struct fw_child *child =
		(struct fw_child *)((char *)reader - offsetof(struct fw_child, out.reader));
	const struct fw_buf *lines = &child->out.lines;

	return !child->is_freed && !child->out.is_over &&
	       lines->cap - lines->len > READ_BYTES && read_outputs(child);
}

const char *fw_child_partial(const struct fw_child *child, size_t *ret_len)
{
	int unread = 0;

	if (child->out.fd < 0 || !child->out.lines.len ||
	    ioctl(child->out.fd, FIONREAD, &unread) != 0 || unread > 0)
		return NULL;
	*ret_len = child->out.lines.len;
	return child->out.lines.text;
}

void fw_child_drop_partial(struct fw_child *child)
{
	child->out.lines.len = 0;
}

/* ---- standard input ----------------------------------------------------------- */

size_t fw_child_unsent(const struct fw_child *child)
{
	return child->in.unsent.len - child->in.sent;
}

uint64_t fw_child_accepted(const struct fw_child *child)
{
	return child->in.accepted;
}

void fw_child__close_input(struct fw_child *child)
{
	struct fw_child_input *in = &child->in;

	in->is_over = true;
	if (in->fd < 0)
		return;
	fw_child__close_handle((uv_handle_t *)&in->poll);
	fw_linger_remove(&child->loop->linger, &in->writer);
	(void)close(in->fd);
	in->fd = -1;
}

/* The lines of which no byte is in the pipe. */
static size_t count_unsent(const struct fw_child_input *in)
{
	const char *at = in->unsent.text ? in->unsent.text + in->sent : NULL;
	const char *end = at ? at + (in->unsent.len - in->sent) : NULL;
	bool is_begun = at && in->sent && at[-1] != '\n';
	size_t count = 0;

	while (at < end && (at = memchr(at, '\n', (size_t)(end - at)))) {
		at++;
		count++;
	}
	return count && is_begun ? count - 1 : count;
}

/* The lines before those `unsent` that are in the pipe, and of which no byte was read. The pipe
 * has no reader any more, so none will be. */
static size_t count_unread(const struct fw_child_input *in, size_t unsent)
{
	size_t count = unsent;
	uint64_t taken;
	int unread = 0;

	if (in->fd < 0 || ioctl(in->fd, FIONREAD, &unread) != 0 || unread <= 0)
		return 0;
	taken = in->bytes - (in->unsent.len - in->sent) - (uint64_t)unread;
	while (count < FW_CHILD_LINES && count < in->accepted &&
	       in->starts[(in->accepted - count) % FW_CHILD_LINES] >= taken)
		count++;
	return count - unsent;
}

void fw_child__give_up_input(struct fw_child *child)
{
	struct fw_child_input *in = &child->in;
	size_t count = count_unsent(in);

	count += count_unread(in, count);
	/* Nobody reads it any more, and nothing is counted twice. */
	fw_child__close_input(child);
	fw_buf_clear(&in->unsent);
	in->sent = 0;
	if (count && child->on.unsent && !child->is_freed)
		child->on.unsent(child->ctx, in->accepted - count + 1);
}

static void on_room(uv_poll_t *poll, int status, int events);

/* Writes what the pipe takes; false: its reader has closed it. */
static bool flush(struct fw_child *child)
{
	struct fw_child_input *in = &child->in;

	while (in->sent < in->unsent.len) {
		ssize_t put = fw_plain_write(in->fd, in->unsent.text + in->sent,
					     in->unsent.len - in->sent);
		int errnum = errno;

		if (put >= 0) {
			in->sent += (size_t)put;
		} else if (errnum == EAGAIN) {
			if (!in->is_waiting)
				(void)uv_poll_start(&in->poll, UV_WRITABLE, on_room);
			in->is_waiting = true;
			return true;
		} else if (errnum != EINTR) {
			in->is_over = true;
			return false;
		}
	}
	in->sent = 0;
	fw_buf_reset(&in->unsent, FW_LIMIT_CHILD_KEPT_BYTES);
	if (in->is_waiting)
		(void)uv_poll_stop(&in->poll);
	in->is_waiting = false;
	if (in->is_ending)
		fw_child__close_input(child);
	else if (child->out.fd >= 0)
		fw_linger_expect(&child->loop->linger, &child->out.reader);
	return true;
}

static void on_room(uv_poll_t *poll, int status, int events)
{
	struct fw_child *child = poll->data;

	(void)status;
	(void)events;
	if (flush(child))
		return;
	(void)uv_poll_stop(poll);
	child->in.is_waiting = false;
	fw_child__give_up_input(child);
}

static void on_write(struct fw_writer *writer)
{
	struct fw_child *child =
		(struct fw_child *)((char *)writer - offsetof(struct fw_child, in.writer));

	fw_linger_remove(&child->loop->linger, writer);
	if (!child->in.is_over && !child->in.is_waiting && !flush(child))
		fw_child__give_up_input(child);
}

/* Puts the line after what is unsent, and removes what was sent. */
static bool put_line(struct fw_child_input *in, const char *text, size_t len)
{
	struct fw_buf *unsent = &in->unsent;

	if (in->sent > READ_BYTES && in->sent > unsent->len / 2) {
		memmove(unsent->text, unsent->text + in->sent, unsent->len - in->sent);
		unsent->len -= in->sent;
		in->sent = 0;
	}
	/* Half a line cannot be taken back. */
	if (!fw_buf_reserve(unsent, len + 1)) {
		unsent->state = FW_BUF_OK;
		return false;
	}
	fw_buf_put(unsent, text, len);
	FW_BUF(unsent, "\n");
	in->accepted++;
	in->starts[in->accepted % FW_CHILD_LINES] = in->bytes;
	in->bytes += len + 1;
	return true;
}

enum fw_child_sent fw_child_send(struct fw_child *child, const char *text, size_t len)
{
	struct fw_child_input *in = &child->in;
	size_t before = fw_child_unsent(child);

	if (in->is_over || in->is_ending || child->is_freed)
		return FW_CHILD_BROKEN;
	if (len >= in->unsent_max || before > in->unsent_max - len - 1)
		return FW_CHILD_FULL;
	if (!put_line(in, text, len))
		return FW_CHILD_NO_MEMORY;
	if (before || child->loop->has_more) {
		if (!in->is_waiting)
			fw_linger_add(&child->loop->linger, &in->writer);
		return FW_CHILD_SENT;
	}
	if (flush(child))
		return FW_CHILD_SENT;
	fw_buf_clear(&in->unsent);
	in->sent = 0;
	return FW_CHILD_BROKEN;
}

void fw_child_end_input(struct fw_child *child)
{
	struct fw_child_input *in = &child->in;

	if (in->is_over || in->is_ending || child->is_freed)
		return;
	in->is_ending = true;
	if (!in->is_waiting && !flush(child))
		fw_child__give_up_input(child);
}

/* ---- the beginning ------------------------------------------------------------ */

void fw_child__open_pipes(struct fw_child *child, int in, int out)
{
	uv_loop_t *uv = &child->loop->uv;

	/* None of these calls fails for open descriptors. */
	child->in.fd = in;
	child->out.fd = out;
	(void)uv_poll_init(uv, &child->in.poll, in);
	child->in.writer.write = on_write;
	child->out.reader.read = on_expected;
	(void)uv_poll_init(uv, &child->out.poll, out);
	child->in.poll.data = child;
	child->out.poll.data = child;
	child->open_handles += 2;
	(void)uv_poll_start(&child->out.poll, UV_READABLE | UV_DISCONNECT, on_output);
}
