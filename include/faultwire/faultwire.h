/*
 * faultwire.h - errors, contracts and the server. A client includes <faultwire/client.h>.
 */
#ifndef FAULTWIRE_FAULTWIRE_H
#define FAULTWIRE_FAULTWIRE_H

#include <faultwire/base.h>
#include <faultwire/classify.h>
#include <faultwire/codes.h>
#include <faultwire/contract.h>
#include <faultwire/decide.h>
#include <faultwire/error.h>
#include <faultwire/raise.h>
#include <faultwire/raw.h>
#include <faultwire/registry.h>
#include <faultwire/server.h>

#endif
