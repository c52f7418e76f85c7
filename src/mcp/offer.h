/*
 * offer.h - keeping what was registered; used by registration alone.
 */
#ifndef FW_MCP_OFFER_H
#define FW_MCP_OFFER_H

#include "mcp/impl.h"

/* Takes the offer over where it returns true. */
bool fw_offers_add(struct fw_offers *offers, struct fw_offer *offer);
void fw_offer_free(struct fw_offer *offer);

#endif
