/*
 * fuzz_upstream.c - any bytes from a server that we are a client of: each request is
 * answered exactly once, whatever comes.
 *
 * The first byte chooses how many requests are open (low two bits), and how the rest
 * arrives: as lines of standard output, as a stream of events in the response of the
 * first request, or as its body.
 */
#include "fuzz_remote.h"

#include "base/loop.h"
#include "client/link_impl.h"
#include "client/remote_impl.h"
#include "rpc/sse.h"

static fw_error *send_nothing(struct fw_link *link, const struct fw_link_message *message)
{
	struct fw_scan scan;

	(void)link;
	/* What we send is a message, whatever the server made us answer. */
	MUST(fw_slice_scan(message->text, message->len, 1024, &scan) == FW_SCAN_OK);
	return NULL;
}

static void nothing(struct fw_link *link)
{
	(void)link;
}

static bool deliver(void *ctx, const struct fw_sse_received *event)
{
	struct fw_remote *remote = ctx;

	if (event->len)
		fw_remote__callbacks.message(remote, remote->first ? 1 : 0, event->data,
					     event->len);
	return true;
}

static void feed_lines(struct fw_remote *remote, const char *text, size_t len)
{
	const char *end = text + len;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));

		if (!newline) {
			fw_remote__callbacks.noise(remote, 0, FW_LINK_CUT, text,
						   (size_t)(end - text));
			return;
		}
		if (newline > text)
			fw_remote__callbacks.message(remote, 0, text, (size_t)(newline - text));
		text = newline + 1;
	}
}

static void feed(struct fw_remote *remote, unsigned mode, const char *text, size_t len)
{
	struct fw_sse_reader reader;

	if (mode == 0) {
		feed_lines(remote, text, len);
	} else if (mode == 1) {
		fw_sse_reader_init(&reader, 1 << 16, deliver, remote);
		(void)fw_sse_reader_push(&reader, text, len);
		fw_sse_reader_clear(&reader);
	} else {
		fw_remote__callbacks.message(remote, 1, text, len);
		fw_remote__callbacks.failed(remote, 1, NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct fw_link_ops ops = { .send = send_nothing,
						.free = nothing,
						.end = nothing };
	static const char *const argv[] = { "x", NULL };
	const struct fw_remote_options options = { .target = { .name = "fuzz", .argv = argv },
						   .on = { .ready = ready, .down = down } };
	const struct fw_link_ending ending = { .how = FW_LINK_EXITED, .status = 3 };
	struct fw_link link = { .ops = &ops, .target = &options.target };
	struct fw_loop loop;
	struct fw_remote *remote;
	long live = fw_error_live();
	unsigned count;

	if (!size)
		return 0;
	memset(answers, 0, sizeof answers);
	MUST(fw_loop_init(&loop) == 0);
	MUST(!fw_remote_new(&loop, NULL, &options, &remote));
	remote->link = &link;
	remote->state = FW_REMOTE_READY;
	remote->version = data[0] & 32 ? FW_V_2025_03_26 : FW_V_2025_11_25;
	count = data[0] & 3u ? data[0] & 3u : 1;
	for (unsigned i = 0; i < count; i++)
		MUST(!fw_remote_call(remote,
				     &(struct fw_remote_request){ .method = "tools/call",
								  .done = done,
								  .progress = progress,
								  .ctx = &answers[i] },
				     NULL));
	feed(remote, data[0] >> 2 & 3, (const char *)data + 1, size - 1);
	for (unsigned i = 0; i < count; i++)
		MUST(answers[i] <= 1);
	fw_remote__callbacks.ended(remote, &ending);
	for (unsigned i = 0; i < count; i++)
		MUST(answers[i] == 1);
	fw_remote_free(remote);
	fw_loop_close(&loop);
	MUST(fw_error_live() == live);
	return 0;
}
