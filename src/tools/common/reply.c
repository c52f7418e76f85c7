/*
 * reply.c - see reply.h.
 */
#include "tools/common/reply.h"

#include <faultwire/raise.h>

fw_error *fw_reply_structured(fw_call *call, struct fw_buf *out)
{
	fw_error *err = NULL;

	if (out->state == FW_BUF_OK)
		fw_call_structured(call, out->text, out->len);
	else
		err = fw_raise_internal_out_of_memory();
	fw_buf_clear(out);
	return err;
}
