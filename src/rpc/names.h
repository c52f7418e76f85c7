/*
 * names.h - the names of MCP: methods, notifications, HTTP headers and keys of
 * `_meta`. Macros, because most of them become parts of longer literals.
 */
#ifndef FW_RPC_NAMES_H
#define FW_RPC_NAMES_H

/* ---- requests of a client ------------------------------------------------ */

#define FW_METHOD_INITIALIZE "initialize"
#define FW_METHOD_PING "ping"
#define FW_METHOD_DISCOVER "server/discover"
#define FW_METHOD_TOOLS_CALL "tools/call"
#define FW_METHOD_TOOLS_LIST "tools/list"
#define FW_METHOD_RESOURCES_LIST "resources/list"
#define FW_METHOD_TEMPLATES_LIST "resources/templates/list"
#define FW_METHOD_RESOURCES_READ "resources/read"
#define FW_METHOD_SUBSCRIBE "resources/subscribe"
#define FW_METHOD_UNSUBSCRIBE "resources/unsubscribe"
#define FW_METHOD_PROMPTS_LIST "prompts/list"
#define FW_METHOD_PROMPTS_GET "prompts/get"
#define FW_METHOD_COMPLETE "completion/complete"
#define FW_METHOD_SET_LEVEL "logging/setLevel"
#define FW_METHOD_LISTEN "subscriptions/listen"

/* ---- requests of a server ------------------------------------------------ */

#define FW_METHOD_ELICIT "elicitation/create"
#define FW_METHOD_SAMPLE "sampling/createMessage"
#define FW_METHOD_ROOTS "roots/list"

/* ---- notifications ------------------------------------------------------- */

#define FW_NOTE_INITIALIZED "notifications/initialized"
#define FW_NOTE_CANCELLED "notifications/cancelled"
#define FW_NOTE_PROGRESS "notifications/progress"
#define FW_NOTE_LOG "notifications/message"
#define FW_NOTE_ACKNOWLEDGED "notifications/subscriptions/acknowledged"
#define FW_NOTE_TOOLS_CHANGED "notifications/tools/list_changed"
#define FW_NOTE_PROMPTS_CHANGED "notifications/prompts/list_changed"
#define FW_NOTE_RESOURCES_CHANGED "notifications/resources/list_changed"
#define FW_NOTE_RESOURCE_UPDATED "notifications/resources/updated"

/* ---- HTTP headers -------------------------------------------------------- */

#define FW_HEADER_VERSION "MCP-Protocol-Version"
#define FW_HEADER_SESSION "Mcp-Session-Id"
#define FW_HEADER_METHOD "Mcp-Method"
#define FW_HEADER_NAME "Mcp-Name"
#define FW_HEADER_PARAM_PREFIX "Mcp-Param-"
#define FW_HEADER_LAST_EVENT "Last-Event-ID"
#define FW_HEADER_CONTRACT "Faultwire-Contract"

/* ---- keys of `_meta` ----------------------------------------------------- */

#define FW_META_PREFIX "io.modelcontextprotocol/"
#define FW_META_VERSION FW_META_PREFIX "protocolVersion"
#define FW_META_CLIENT_INFO FW_META_PREFIX "clientInfo"
#define FW_META_CLIENT_CAPABILITIES FW_META_PREFIX "clientCapabilities"
#define FW_META_LOG_LEVEL FW_META_PREFIX "logLevel"
#define FW_META_SERVER_INFO FW_META_PREFIX "serverInfo"
#define FW_META_SUBSCRIPTION FW_META_PREFIX "subscriptionId"
#define FW_META_PROGRESS "progressToken"
#define FW_META_TRACE "traceparent"
#define FW_META_CONTRACT "dev.faultwire/contract"
#define FW_META_ERROR "dev.faultwire/error"

#endif
