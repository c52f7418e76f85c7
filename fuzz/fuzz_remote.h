/*
 * fuzz_remote.h - the caller of a remote, for fuzzers of what a server sends: it counts the
 * answers to each of its requests.
 */
#ifndef FUZZ_REMOTE_H
#define FUZZ_REMOTE_H

#include "fuzz.h"

#include "client/remote.h"

enum { FUZZ_REQUESTS = 3 };

static unsigned answers[FUZZ_REQUESTS];

/* The context of a request is its element of `answers`. */
static void done(void *ctx, const struct fw_remote_reply *reply, fw_error *err)
{
	MUST(!reply != !err);
	if (reply) {
		MUST(!reply->result.p != !reply->error.p);
		MUST(fw_slice_is_object(reply->result.p ? reply->result : reply->error));
	} else {
		MUST(fw_error_delivery(err) != FW_DELIVERY_NONE);
	}
	answers[(unsigned *)ctx - answers]++;
	fw_error_free(err);
}

static void progress(void *ctx, struct fw_slice params)
{
	(void)ctx;
	MUST(params.p);
}

static void ready(void *ctx)
{
	(void)ctx;
}

static void down(void *ctx, fw_error *err)
{
	(void)ctx;
	fw_error_free(err);
}

#endif
