/*
 * embed.h - vectors of texts by a service with the interface of OpenAI's `/v1/embeddings`.
 *
 * Address, model and key come from the environment: FAULTWIRE_EMBEDDINGS_URL,
 * FAULTWIRE_EMBEDDINGS_MODEL and FAULTWIRE_EMBEDDINGS_KEY. The key is sent to that address
 * and appears nowhere else.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_EMBED_H
#define FW_TOOLS_CODE_SEMANTIC_EMBED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

enum {
	FW_SEMANTIC_EMBED_URL_BYTES = 1024,
	FW_SEMANTIC_EMBED_MODEL_BYTES = 128,
	FW_SEMANTIC_EMBED_KEY_BYTES = 512,
	FW_SEMANTIC_EMBED_BATCH = 64
};

struct fw_semantic_embedder {
	char url[FW_SEMANTIC_EMBED_URL_BYTES]; /* of the POST: .../embeddings */
	char model[FW_SEMANTIC_EMBED_MODEL_BYTES];
	char key[FW_SEMANTIC_EMBED_KEY_BYTES]; /* "": none */
	char id[160];                          /* what an index says it was made with */
	uint32_t timeout_ms;
};

/* Reads the environment; `*ret_is_set` is false if there is no address. Raises cli.usage for
 * values that cannot be used. */
FW_NODISCARD fw_error *fw_semantic_embedder_read(struct fw_semantic_embedder *ret_embedder,
						 bool *ret_is_set);
/* Loads libcurl: before a sandbox that does not let it. Raises internal.unsupported. */
FW_NODISCARD fw_error *fw_semantic_embedder_load(void);

/*
 * The vectors of some texts, at most FW_SEMANTIC_EMBED_BATCH. `*dims` is their length, or 0 if
 * it is not known yet; `ret_vectors` gets count * dims numbers, allocated. Raises
 * search.embedding_failed with the reason: refused, too slow, a status (with retry_after if
 * the service gives one), an answer that is not one, a length that is not `*dims`.
 */
FW_NODISCARD fw_error *fw_semantic_embed(const struct fw_semantic_embedder *embedder,
					 const char *const *texts, const size_t *lens,
					 size_t count, size_t *dims, float **ret_vectors);

#endif
