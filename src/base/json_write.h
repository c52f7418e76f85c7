/*
 * json_write.h - what the library needs to know of a builder of <faultwire/json.h>.
 */
#ifndef FW_BASE_JSON_WRITE_H
#define FW_BASE_JSON_WRITE_H

#include <faultwire/json.h>

#include "base/buf.h"

/* Whether it lacked memory or grew too large; FW_BUF_OK also if it was misused. */
enum fw_buf_state fw_json__state(const fw_json *json);

#endif
