/*
 * link_impl.h - declarations that the two kinds of links share.
 */
#ifndef FW_CLIENT_LINK_IMPL_H
#define FW_CLIENT_LINK_IMPL_H

#include "client/link.h"

struct fw_link_ops {
	void (*free)(struct fw_link *link);
	fw_error *(*send)(struct fw_link *link, const struct fw_link_message *message);
	uint64_t (*accepted)(const struct fw_link *link);
	void (*abort)(struct fw_link *link, uint64_t key);
	void (*listen)(struct fw_link *link);
	void (*end)(struct fw_link *link);
	struct fw_slice (*partial)(const struct fw_link *link);
	void (*drop_partial)(struct fw_link *link);
	size_t (*errors)(const struct fw_link *link, char *ret_text, size_t size);
};

struct fw_link {
	const struct fw_link_ops *ops;
	const struct fw_link_target *target;
	struct fw_link_callbacks on;
	void *ctx;
	size_t message_bytes;
};

fw_error *fw_link__open_child(struct fw_loop *loop, const struct fw_link *base,
			      struct fw_link **ret_link);
fw_error *fw_link__open_http(struct fw_loop *loop, struct fw_fetcher *fetcher,
			     const struct fw_link *base, struct fw_link **ret_link);

/* HTTP only. */
void fw_link__set_version(struct fw_link *base, const char *version, bool is_modern);
void fw_link__forget_session(struct fw_link *base);
uint64_t fw_link__session(const struct fw_link *base);

#endif
