/*
 * server.h - an MCP server: tools, resources and prompts after one boundary.
 *
 * Register what you offer, choose where to listen, run. A handler gets a call,
 * adds to its result, and returns NULL; or it returns an fw_error, which
 * reaches the client in the contract that the client chose. Both protocol eras
 * (2025-03-26, 2025-06-18 and 2025-11-25 with a handshake, 2026-07-28 without)
 * and both transports use the same handlers.
 *
 * The one rule to remember: registering and running belong to one thread; a
 * call may be used by the thread that handles it, and by nobody after it is
 * finished.
 */
#ifndef FAULTWIRE_SERVER_H
#define FAULTWIRE_SERVER_H

#include <faultwire/call.h>
#include <faultwire/contract.h>
#include <faultwire/listen.h>
#include <faultwire/observe.h>
#include <faultwire/observer.h>
#include <faultwire/page.h>
#include <faultwire/principal.h>
#include <faultwire/serve.h>
#include <faultwire/tool.h>
#include <faultwire/workers.h>

#endif
