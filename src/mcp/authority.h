/*
 * authority.h - the interface between the server half and the part that decides who may call
 * what, how often and for how much (src/govern/). Without an authority nothing is decided:
 * every caller may do everything.
 *
 * The one rule to remember: a call that was entered is ended exactly once, after its outcome is
 * decided. Everything is on the loop's thread.
 */
#ifndef FW_MCP_AUTHORITY_H
#define FW_MCP_AUTHORITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/call.h>
#include <faultwire/principal.h>
#include <faultwire/serve.h>

struct fw_authority;
struct fw_offer;

/* The bearer token of a request. */
struct fw_credential {
	const char *token;
	size_t len;
	const char *peer; /* address of the sender; NULL: none */
	/* Out: authentication failed, and an alert must be raised for it. */
	bool is_alarm;
};

/* A member of a list that a client asks for. */
struct fw_listed {
	const char *tool;    /* its name; NULL: a resource or a prompt */
	const char *toolset; /* of the tool, or its upstream; NULL: none is known */
	bool changes;        /* the tool may change state */
};

struct fw_authority_ops {
	/* Who has the token: a reference, which is the caller's. Raises auth.unauthorized,
	 * governance.rate_limited (too many wrong tokens), dependency.unavailable. */
	fw_error *(*identify)(struct fw_authority *authority, struct fw_credential *credential,
			      fw_principal **ret_principal);
	/* A page with this pattern is asked for, with a valid token. Raises
	 * auth.forbidden. */
	fw_error *(*open_page)(struct fw_authority *authority, const fw_principal *principal,
			       const char *pattern);
	/* A resource or prompt is asked for, or a method that only an upstream knows. Raises
	 * auth.forbidden. */
	fw_error *(*read)(struct fw_authority *authority, const fw_call *call);
	/* Whether a list shows it: false if calling or reading it would be forbidden. */
	bool (*shows)(struct fw_authority *authority, const fw_principal *principal,
		      const struct fw_listed *listed);
	/* A tool is called; its arguments are not checked yet. */
	fw_error *(*enter)(struct fw_authority *authority, fw_call *call);
	/* It is about to run. `*ret_waits`: fw_authority_decided() comes later. */
	fw_error *(*admit)(struct fw_authority *authority, fw_call *call, bool *ret_waits);
	/* The outcome of a call whose grant has an account. */
	void (*ended)(struct fw_authority *authority, fw_call *call, const fw_error *err);
};

struct fw_authority {
	const struct fw_authority_ops *ops;
	bool requires_token; /* over HTTP */
};

/* The part of a call that belongs to the authority. */
struct fw_grant {
	void *account; /* the authority's; NULL: not entered */
	void *breaker; /* likewise; NULL: none */
	void *waiting; /* likewise */
	uint64_t cost;
	int64_t paid_ms;      /* when the cost was taken out of budgets; 0: it was not */
	unsigned paid;        /* out of which: the authority's */
	uint32_t deadline_ms; /* the most; 0: no limit */
	bool is_counted;      /* as one of the calls in progress */
	bool is_shared;       /* counted by all replicas */
};

/* From now on the authority is asked. It outlives the server. Before it listens. */
void fw_server__set_authority(fw_server *server, struct fw_authority *authority);
/* NULL: there is none. */
struct fw_authority *fw_server__authority(const fw_server *server);

/* ---- what the server half calls; each is a no-op without an authority ---- */

fw_error *fw_authority_read(const fw_call *call);
fw_error *fw_authority_enter(fw_call *call);
/* Whether a list shows this to the caller; true without an authority. */
bool fw_authority_shows(const fw_server *server, const fw_principal *principal,
			const struct fw_listed *listed);
bool fw_authority_shows_tool(const fw_server *server, const fw_principal *principal,
			     const struct fw_offer *tool);
/* Starts the call, now or later, or refuses it. */
fw_error *fw_authority_start(fw_call *call);
void fw_authority_end(fw_call *call, const fw_error *err);

/* ---- what an authority calls ---- */

/* The decision on a call that waits. Consumes `err`, and the reference that the authority
 * has taken (fw_call__ref()). False: the call was over by then, so it does not run. */
bool fw_authority_decided(fw_call *call, fw_error *err);
/* Ends the streams of clients whose token is not valid any more: GET streams, listeners
 * and streams of pages. Calls in progress continue, and are answered. */
void fw_authority_end_streams(fw_server *server);
/* The toolset or upstream of the tool that is called; NULL: none is known. */
const char *fw_authority_toolset(const fw_call *call);
/* Whether the tool may change state, as far as the server knows. */
bool fw_authority_may_change(const fw_call *call);

#endif
