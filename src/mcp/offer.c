/*
 * offer.c - finding what was registered, by name or by template.
 */
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "mcp/offer.h"
#include "schema/schema.h"

static size_t hash_of(const char *name, size_t len)
{
	return (size_t)fw_hash(name, len, 0);
}

const struct fw_offer *fw_offers_find(const struct fw_offers *offers, const char *name,
				      size_t len)
{
	size_t mask = offers->slot_count - 1;

	if (!offers->slot_count)
		return NULL;
	for (size_t at = hash_of(name, len) & mask; offers->slots[at]; at = (at + 1) & mask) {
		const struct fw_offer *offer = offers->items[offers->slots[at] - 1];

		if (offer->name_len == len && memcmp(offer->name, name, len) == 0)
			return offer;
	}
	return NULL;
}

static bool rehash(struct fw_offers *offers, size_t slot_count)
{
	uint32_t *slots = fw__allocate(slot_count * sizeof *slots);

	if (!slots)
		return false;
	memset(slots, 0, slot_count * sizeof *slots);
	for (size_t i = 0; i < offers->count; i++) {
		const struct fw_offer *offer = offers->items[i];
		size_t at = hash_of(offer->name, offer->name_len) & (slot_count - 1);

		while (slots[at])
			at = (at + 1) & (slot_count - 1);
		slots[at] = (uint32_t)i + 1;
	}
	fw__release(offers->slots);
	offers->slots = slots;
	offers->slot_count = slot_count;
	return true;
}

bool fw_offers_add(struct fw_offers *offers, struct fw_offer *offer)
{
	if (offers->count == offers->room) {
		size_t room = offers->room ? offers->room * 2 : 8;
		struct fw_offer **items =
			fw__reallocate(offers->items, room * sizeof *offers->items);

		if (!items)
			return false;
		offers->items = items;
		offers->room = room;
	}
	offers->items[offers->count++] = offer;
	if (offers->count * 2 > offers->slot_count) {
		if (!rehash(offers, offers->room * 4)) {
			offers->count--;
			return false;
		}
	} else {
		size_t mask = offers->slot_count - 1;
		size_t at = hash_of(offer->name, offer->name_len) & mask;

		while (offers->slots[at])
			at = (at + 1) & mask;
		offers->slots[at] = (uint32_t)offers->count;
	}
	return true;
}

void fw_offer_free(struct fw_offer *offer)
{
	if (!offer)
		return;
	for (size_t i = 0; offer->required && offer->required[i]; i++)
		fw__release(offer->required[i]);
	fw_mirrors_clear(&offer->mirrors);
	fw__release(offer->required);
	fw__release(offer->name);
	fw__release(offer->json);
	fw__release(offer->json_legacy);
	fw__release(offer->mime_type);
	fw__release(offer->operation);
	fw__release(offer->empty_result);
	fw__release(offer->breaker);
	fw_schema_free(offer->input);
	fw_schema_free(offer->output);
	fw__release(offer);
}

void fw_offers_clear(struct fw_offers *offers)
{
	for (size_t i = 0; i < offers->count; i++)
		fw_offer_free(offers->items[i]);
	fw__release(offers->items);
	fw__release(offers->slots);
	*offers = (struct fw_offers){ 0 };
}

/* ---- templates ------------------------------------------------------------------ */

/*
 * Level 1 of RFC 6570: {name} stands for one or more characters but '/'. Each
 * takes as little as it can, which is right where literal text parts them.
 */
bool fw_template_match(const char *pattern, const char *uri, size_t len, fw_template_fn *tell,
		       void *ctx)
{
	const char *end = uri + len;

	while (*pattern) {
		const char *close;
		const char *variable;
		const char *start = uri;
		bool takes_slashes;
		const char *literal;
		size_t literal_len;

		if (*pattern != '{') {
			if (uri == end || *uri != *pattern)
				return false;
			uri++;
			pattern++;
			continue;
		}
		close = strchr(pattern, '}');
		if (!close)
			return false;
		takes_slashes = pattern[1] == '+';
		variable = pattern + (takes_slashes ? 2 : 1);
		literal = close + 1;
		literal_len = strcspn(literal, "{");
		while (uri < end && (takes_slashes || *uri != '/')) {
			if (literal_len && uri > start && (size_t)(end - uri) >= literal_len &&
			    memcmp(uri, literal, literal_len) == 0)
				break;
			uri++;
		}
		if (uri == start)
			return false;
		if (tell)
			tell(ctx, variable, (size_t)(close - variable), start,
			     (size_t)(uri - start));
		pattern = literal;
	}
	return uri == end;
}
