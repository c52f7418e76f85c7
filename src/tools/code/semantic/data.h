/*
 * data.h - the database of an index: what is known of each file, the records of their
 * contents, past commits, vectors of an embedding service.
 *
 * It is what `build` continues from. A search does not open it: it reads the snapshot that
 * is made from it (snapshot.h).
 *
 * The one rule to remember: everything between fw_semantic_data_begin() and _commit() is there
 * completely or not at all, whenever the process is killed.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_DATA_H
#define FW_TOOLS_CODE_SEMANTIC_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

enum { FW_SEMANTIC_HASH_BYTES = 20 };

struct fw_semantic_data;

/*
 * Opens or creates it. One that is damaged, or of another version, is deleted and created again;
 * then `*ret_is_new`. Raises search.failed with the reason, internal.out_of_memory,
 * internal.unsupported without SQLite.
 */
FW_NODISCARD fw_error *fw_semantic_data_open(const char *path,
					     struct fw_semantic_data **ret_data,
					     bool *ret_is_new);
/* NULL is a no-op. What is not committed is lost. */
void fw_semantic_data_close(struct fw_semantic_data *data);

/* Was something found that cannot be right? */
bool fw_semantic_data_is_corrupt(const struct fw_semantic_data *data);
/* The error of a record that cannot be right: search.failed. */
FW_NODISCARD fw_error *fw_semantic_data_damaged(struct fw_semantic_data *data);
/* Deletes the database at `path`, which is not open. */
void fw_semantic_data_delete(const char *path);

FW_NODISCARD fw_error *fw_semantic_data_begin(struct fw_semantic_data *data);
FW_NODISCARD fw_error *fw_semantic_data_commit(struct fw_semantic_data *data);

/* A file as it was when it was read last. */
struct fw_semantic_file {
	const char *path;
	int64_t size;
	int64_t mtime_ns;
	int64_t inode;
	int64_t blob; /* its record */
};

/* In the order of the bytes of their paths. */
FW_NODISCARD fw_error *fw_semantic_data_files(
	struct fw_semantic_data *data,
	fw_error *(*each)(void *ctx, const struct fw_semantic_file *file), void *ctx);
FW_NODISCARD fw_error *fw_semantic_data_put_file(struct fw_semantic_data *data,
						 const struct fw_semantic_file *file);
FW_NODISCARD fw_error *fw_semantic_data_drop_file(struct fw_semantic_data *data,
						  const char *path);

/* The record of a content; `*ret_blob` is 0 if there is none. */
FW_NODISCARD fw_error *fw_semantic_data_find_blob(
	struct fw_semantic_data *data, const unsigned char hash[FW_SEMANTIC_HASH_BYTES],
	int64_t *ret_blob);
FW_NODISCARD fw_error *fw_semantic_data_put_blob(
	struct fw_semantic_data *data, const unsigned char hash[FW_SEMANTIC_HASH_BYTES],
	const void *record, size_t len, int64_t *ret_blob);
/* Copies of it are the caller's task: `record` is valid until the next call. */
FW_NODISCARD fw_error *fw_semantic_data_blob(struct fw_semantic_data *data, int64_t blob,
					     const void **ret_record, size_t *ret_len);
/* Deletes records and vectors that no file has any more. */
FW_NODISCARD fw_error *fw_semantic_data_sweep(struct fw_semantic_data *data);

/* Vectors of the chunks of a blob; `*ret_len` is 0 if there are none. */
FW_NODISCARD fw_error *fw_semantic_data_vectors(struct fw_semantic_data *data, int64_t blob,
						const void **ret_bytes, size_t *ret_len);
FW_NODISCARD fw_error *fw_semantic_data_put_vectors(struct fw_semantic_data *data, int64_t blob,
						    const void *bytes, size_t len);
FW_NODISCARD fw_error *fw_semantic_data_drop_vectors(struct fw_semantic_data *data);

/* A commit: `paths` are separated by newlines. */
struct fw_semantic_commit {
	const char *sha;
	int64_t time_s;
	const char *subject;
	const char *paths;
};
FW_NODISCARD fw_error *fw_semantic_data_put_commit(struct fw_semantic_data *data,
						   const struct fw_semantic_commit *commit);
/* The newest first, at most `most`. */
FW_NODISCARD fw_error *fw_semantic_data_commits(
	struct fw_semantic_data *data, size_t most,
	fw_error *(*each)(void *ctx, const struct fw_semantic_commit *commit), void *ctx);
FW_NODISCARD fw_error *fw_semantic_data_drop_commit(struct fw_semantic_data *data,
						    const char *sha);
FW_NODISCARD fw_error *fw_semantic_data_drop_commits(struct fw_semantic_data *data);

/* Values by name; `*ret_len` is 0 if there is none. */
FW_NODISCARD fw_error *fw_semantic_data_meta(struct fw_semantic_data *data, const char *name,
					     const void **ret_bytes, size_t *ret_len);
FW_NODISCARD fw_error *fw_semantic_data_put_meta(struct fw_semantic_data *data,
						 const char *name, const void *bytes,
						 size_t len);

#endif
