/*
 * everything.h - what the files of this example share: the handlers of its tools, which
 * tools.c registers, and the functions that register all the rest.
 */
#ifndef EVERYTHING_H
#define EVERYTHING_H

#include <faultwire/faultwire.h>

/* A PNG of one pixel, in base64. */
#define PNG                                                                                    \
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJ" \
	"RU5ErkJggg=="

/* The parameters of an elicitation. */
#define FORM(message, properties, required)                                       \
	"{\"message\":\"" message                                                 \
	"\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{" properties \
	"},\"required\":[" required "]}}"

/* ---- results.c ---- */

fw_handler tool_simple_text;
fw_handler tool_image;
fw_handler tool_audio;
fw_handler tool_embedded;
fw_handler tool_mixed;
fw_handler tool_echo;
fw_handler tool_echo_json;
fw_handler tool_region;
fw_handler tool_add;
fw_handler tool_failing;
fw_handler tool_silent;
fw_handler tool_logging;
fw_handler tool_log_once;
fw_handler tool_progress;
fw_handler tool_chatter;
fw_handler tool_reconnection;
fw_handler tool_slow;
fw_handler tool_later;
fw_handler tool_tools_changed;
fw_handler tool_prompts_changed;
fw_handler tool_streaming;

/* ---- asking.c ---- */

fw_handler tool_sampling;
fw_handler tool_elicitation;
fw_handler tool_form;
fw_handler tool_missing_capability;
fw_handler tool_ask_name;
fw_handler tool_ask_model;
fw_handler tool_ask_roots;
fw_handler tool_ask_confirmation;
fw_handler tool_ask_all;
fw_handler tool_ask_twice;
fw_handler tool_ask_what_it_can;

/* Forms for tool_form(). */
extern const char everything_defaults_form[];
extern const char everything_enums_form[];

static inline const char *or_empty(const char *text)
{
	return text ? text : "";
}

/* ---- tools.c, resources.c ---- */

fw_error *everything_add_tools(fw_server *server);
fw_error *everything_add_resources(fw_server *server);
fw_error *everything_add_prompts(fw_server *server);

#endif
