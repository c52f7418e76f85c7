/*
 * base.h - what every public header needs: linkage, attributes, source locations, and
 * the allocator.
 *
 * The one rule to remember: if you install an allocator, do it before any other call
 * into the library.
 */
#ifndef FAULTWIRE_BASE_H
#define FAULTWIRE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define FW_EXTERN_C_BEGIN extern "C" {
#define FW_EXTERN_C_END }
#else
#define FW_EXTERN_C_BEGIN
#define FW_EXTERN_C_END
#endif

#if defined(__GNUC__)
#define FW_API __attribute__((visibility("default")))
#define FW_NODISCARD __attribute__((warn_unused_result))
#define FW_PRINTF(format_at, first_at) __attribute__((format(printf, format_at, first_at)))
#else
#define FW_API
#define FW_NODISCARD
#define FW_PRINTF(format_at, first_at)
#endif

/*
 * Option structs. The first member of each is struct_size, the size that the struct
 * had when the caller was compiled. FW_..._INIT sets it, and leaves every other member
 * at its default. Members are only ever appended: a caller compiled against an older
 * header passes a smaller size, and gets the defaults for what it does not know. A
 * size of 0, or one larger than this library knows, raises internal.api_misuse, and
 * nothing beyond struct_size is read.
 *
 * C++ has designated initializers only since C++20, hence the functions.
 */
#ifdef __cplusplus
template <typename Options> inline Options fw_init(void)
{
	Options made = Options();

	made.struct_size = sizeof(Options);
	return made;
}

template <typename Options, typename Contract> inline Options fw_init(Contract contract)
{
	Options made = fw_init<Options>();

	made.contract = contract;
	return made;
}

#define FW_INIT(type) fw_init<type>()
#else
#define FW_INIT(type)                       \
	{                                   \
		.struct_size = sizeof(type) \
	}
#endif

FW_EXTERN_C_BEGIN

/** The version of the library, for example "0.1.0". Static; never NULL. */
FW_API const char *fw_version(void);

/**
 * A source location. The strings are borrowed and must be static, as those of FW_HERE
 * are.
 */
typedef struct fw_src {
	const char *file;
	const char *function;
	int line;
} fw_src;

static inline fw_src fw_src_at(const char *file, const char *function, int line)
{
	fw_src at;

	at.file = file;
	at.function = function;
	at.line = line;
	return at;
}

/** The current source location, for functions that take an fw_src. */
#define FW_HERE fw_src_at(__FILE__, __func__, __LINE__)

/**
 * A memory allocator. `reallocate` is called with the old pointer or NULL, `release`
 * also with NULL. All three may be called from any thread.
 */
typedef struct fw_allocator {
	void *(*allocate)(void *ctx, size_t size);
	void *(*reallocate)(void *ctx, void *ptr, size_t size);
	void (*release)(void *ctx, void *ptr);
	void *ctx;
} fw_allocator;

/**
 * Use `allocator` (copied) from now on; NULL restores that of libc. Not thread-safe;
 * call it before the library has allocated anything.
 */
FW_API void fw_allocator_set(const fw_allocator *allocator);

/** Release memory that the library returned to you. NULL is a no-op. */
FW_API void fw_free(void *ptr);

FW_EXTERN_C_END

#endif
