/*
 * plans.h - the plans of a workspace, for programs outside of the toolset: what
 * `faultwire plan` needs to list, create, approve and sign them.
 *
 * The one rule to remember: outside of this folder, only this header and workspace.h
 * are included (test/checks/layers).
 */
#ifndef FW_TOOLS_WORKSPACE_PLANS_H
#define FW_TOOLS_WORKSPACE_PLANS_H

#include "tools/workspace/bootstrap.h"
#include "tools/workspace/plan.h"
#include "tools/workspace/plan_store.h"
#include "tools/workspace/revoked.h"

#endif
