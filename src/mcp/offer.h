/*
 * offer.h - what the server offers: tools, resources, resource templates and
 * prompts, as they were registered.
 *
 * The one rule to remember: an offer does not change after registration, so
 * threads and workers may read it without a lock.
 */
#ifndef FW_MCP_OFFER_H
#define FW_MCP_OFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/tool.h>

#include "rpc/mirror.h"
#include "schema/schema.h"

struct fw_breaker;
struct fw_runner;

/* How many calls of an offer wait for a slot, and how many have one. */
struct fw_load {
	size_t waiting;
	size_t running;
};

enum fw_kind_of_offer { FW_OFFER_TOOL, FW_OFFER_RESOURCE, FW_OFFER_TEMPLATE, FW_OFFER_PROMPT };

struct fw_offer {
	enum fw_kind_of_offer kind;
	char *name; /* for a resource: its URI or template */
	size_t name_len;
	bool is_plain_name; /* nothing in it is redacted, or escaped in JSON */
	char *json;         /* its entry in lists */
	char *mime_type;
	char *operation;
	const char *toolset; /* borrowed; NULL: none */
	/* Compact JSON, valid by the output schema, if there is one; NULL: none is. */
	char *empty_result;
	fw_schema *input;
	fw_schema *output;
	bool output_is_object; /* legacy versions allow no other output schema */
	char *json_legacy;     /* the entry without outputSchema, if it is not an object */
	struct fw_mirrors mirrors;
	char **required; /* prompts: names of required arguments; ends with NULL */
	fw_handler *handler;
	fw_handler *complete;
	void *ctx;
	fw_run run;
	uint32_t deadline_ms;
	fw_contract contract;
	bool changes;
	bool checks_arguments;
	bool takes_nul;
	bool is_hidden;
	bool is_drill;              /* it fails on purpose */
	struct fw_load *load;       /* owned by the queue */
	struct fw_runner *runner;   /* FW_RUN_PROCESS only */
	struct fw_breaker *breaker; /* FW_RUN_PROCESS only */
	fw_state *state;            /* NULL: none */
};

struct fw_offers {
	struct fw_offer **items;
	size_t count;
	size_t room;
	/* Open addressing by name: index + 1, 0 is free. */
	uint32_t *slots;
	size_t slot_count;
};

const struct fw_offer *fw_offers_find(const struct fw_offers *offers, const char *name,
				      size_t len);
void fw_offers_clear(struct fw_offers *offers);
/* Takes ownership of the offer if it returns true. */
bool fw_offers_add(struct fw_offers *offers, struct fw_offer *offer);
void fw_offer_free(struct fw_offer *offer);

/* Whether `uri` matches the template; if so, `report` gets each variable. */
typedef void fw_template_fn(void *ctx, const char *name, size_t name_len, const char *value,
			    size_t len);
bool fw_template_match(const char *pattern, const char *uri, size_t len, fw_template_fn *report,
		       void *ctx);

#endif
