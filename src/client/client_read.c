/*
 * client_read.c - decodes the failure that a server reported, in any contract. Text that
 * is in no contract is classified.
 */
#include <string.h>

#include <faultwire/contract.h>
#include <faultwire/raise.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "client/client_impl.h"

/* Copies the text blocks of a result, or the message of an error. */
static void put_words(yyjson_val *root, struct fw_buf *out)
{
	yyjson_val *content = fw_json_member(root, "content"), *part;
	yyjson_val *message = fw_json_member(root, "message");
	size_t index, max;

	fw_buf_put(out, yyjson_is_str(message) ? yyjson_get_str(message) : "",
		   yyjson_is_str(message) ? yyjson_get_len(message) : 0);
	yyjson_arr_foreach(content, index, max, part)
	{
		yyjson_val *text = fw_json_member(part, "text");

		if (!yyjson_is_str(text) || out->state != FW_BUF_OK)
			continue;
		if (out->len)
			FW_BUF(out, "\n");
		fw_buf_put(out, yyjson_get_str(text), yyjson_get_len(text));
	}
}

static fw_error *decode(const fw_client *client, fw_contract *ret_found)
{
	struct fw_buf message;
	fw_decode_options options = FW_DECODE_OPTIONS_INIT;
	fw_error *err = NULL, *failed;

	options.ret_contract = ret_found;
	fw_buf_init(&message, FW_LIMIT_CHILD_LINE_BYTES);
	fw_buf_str(&message, client->outcome == FW_CLIENT_ERROR
				     ? "{\"jsonrpc\":\"2.0\",\"error\":"
				     : "{\"jsonrpc\":\"2.0\",\"result\":");
	fw_buf_put(&message, client->text.text, client->text.len);
	FW_BUF(&message, "}");
	failed = message.state == FW_BUF_OK
			 ? fw_error_decode(message.text, message.len, FW_AUTO, &options, &err)
			 : fw_raise_internal_out_of_memory();
	fw_buf_clear(&message);
	fw_error_free(failed);
	return err;
}

/* Classifies a text that is in no contract. */
static fw_error *classify(const fw_client *client, yyjson_val *root, const char *tool,
			  fw_error *err)
{
	const fw_classifier *rules = client->options.classifier;
	struct fw_buf words;
	fw_flat_text flat = { .tool = tool };
	fw_error *made;

	fw_buf_init(&words, FW_LIMIT_TEXT_BYTES);
	put_words(root, &words);
	flat.text = words.len ? words.text : "";
	flat.len = words.len;
	if (client->outcome == FW_CLIENT_ERROR)
		flat.jsonrpc_code = (int)yyjson_get_sint(fw_json_member(root, "code"));
	made = fw_error_classify(FW_HERE, rules ? rules : fw_classifier_builtin(), &flat);
	fw_buf_clear(&words);
	fw_error_free(err);
	return made;
}

fw_error *fw_client__read(fw_client *client, const char *tool)
{
	const struct fw_json_limits limits = { FW_LIMIT_CHILD_LINE_BYTES, 0 };
	yyjson_doc *doc =
		fw_json_read(client->text.text, client->text.len, limits, 0, NULL, NULL);
	fw_contract found = FW_PLAIN_TEXT;
	fw_error *err = decode(client, &found);

	if (!err || found == FW_ANY_JSON || found == FW_PLAIN_TEXT)
		err = classify(client, yyjson_doc_get_root(doc), tool, err);
	yyjson_doc_free(doc);
	if (fw_error_delivery(err) == FW_DELIVERY_NONE)
		fw_error_set_delivery(err, FW_REPLIED);
	fw_error_fill_scope(err, &(fw_scope){ .tool = tool });
	fw__release(client->failure);
	client->failure = fw_strdup(client->text.text);
	return err;
}
