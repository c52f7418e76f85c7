/*
 * fwgen.h - what the parts of fwgen share: the registry as it was read, and
 * the text that it is turned into.
 *
 * fwgen makes the code tables that the library is built from, so it must not
 * use the library; and it runs in every build, so it needs nothing but libc.
 *
 * The one rule to remember: nothing is freed piece by piece. What keep() gives
 * lives until drop_everything(), at the end of main.
 */
#ifndef FWGEN_H
#define FWGEN_H

#include <stdbool.h>
#include <stddef.h>

#if defined(__GNUC__)
#define PRINTF(format_at, first_at) __attribute__((format(printf, format_at, first_at)))
#else
#define PRINTF(format_at, first_at)
#endif

/* ---- the registry as read: fwgen_parse.c, fwgen_keys.c ---------------- */

enum { PARAMS_MAX = 8, FACTS_MAX = 4, NUMBER_MAX = 99999 };

/* Contracts that have a set of codes of their own. */
enum contract { KAIZA, CONTEXT_V0, CODEINTEL, TOOLERROR, OWLCLAW, CONTRACT_COUNT };

enum param_type { STRING, I64, U64, F64, BOOL, JSON, PARAM_TYPE_COUNT };

/* What a stanza is made of. */
enum key {
	KEY_CODE,
	KEY_SINCE,
	KEY_TITLE,
	KEY_CLASS,
	KEY_RECOVERABLE,
	KEY_STATUS,
	KEY_SEVERITY,
	KEY_JSONRPC,
	KEY_ORIGIN,
	KEY_KAIZA,
	KEY_CONTEXT_V0,
	KEY_CODEINTEL,
	KEY_READS,
	KEY_PARAMS,
	KEY_MESSAGE,
	KEY_STYLE,
	KEY_HINT,
	KEY_EXAMPLE,
	KEY_PROSE, /* the indented text; has no name */
	KEY_COUNT
};

struct param {
	const char *name;
	enum param_type type;
	bool optional;
	bool message_only;
	const char *example; /* JSON text */
};

struct row {
	const char *file;
	unsigned line[KEY_COUNT];    /* where it stands; 0: not given */
	const char *text[KEY_COUNT]; /* as written, continued lines joined */

	int number;
	const char *code;
	int category, type, retry, severity, origin; /* indexes of the names below */
	bool recoverable;
	int status;
	int jsonrpc;
	const char *code_in[CONTRACT_COUNT];
	unsigned reads; /* bit 1u << contract */
	struct param params[PARAMS_MAX];
	size_t param_count;
	bool contract_style;
	const char *retired;     /* the release that retired it, or NULL */
	const char *replaced_by; /* its successor, or NULL */
};

/* One code of a contract's closed set, and what that contract says of it. */
struct contract_code {
	const char *file;
	unsigned line;
	enum contract contract;
	const char *code;
	const char *facts[FACTS_MAX];
	size_t fact_count;
};

/* One line of codes.lock: a code that was released. */
struct lock {
	const char *file;
	unsigned line;
	int number;
	const char *code;
	const char *since;
	const char *retired;
	const char *replaced_by;
};

struct registry {
	const char *dir;
	struct row **rows; /* ordered by number once checked */
	size_t row_count;
	struct contract_code *codes;
	size_t code_count;
	struct lock *locks;
	size_t lock_count;
};

/* Names as written in stanzas and on the wire, each list ended by NULL. */
extern const char *const category_names[];
extern const char *const type_names[];
extern const char *const retry_names[];
extern const char *const severity_names[];
extern const char *const origin_names[];
extern const char *const contract_names[];
extern const char *const param_type_names[];

/* The position of `name` in `names`; -1 where it is not there. */
int name_index(const char *const *names, const char *name);

/* Cuts the next word out of *at; NULL where there is none. */
char *next_word(char **at);

/* The position of `word` in `names`, or the number that it is. What is neither
 * is complained about, with what would have been right. */
int parse_name(const char *file, unsigned line, const char *what, const char *const *names,
	       const char *word);
int parse_number(const char *file, unsigned line, const char *what, int least, int most,
		 const char *word);

/* Fills in the row from its texts; those that a row needs are there. */
void row_parse_keys(struct row *row);

/* Reads all that is in `dir`. Faults are complained about, not returned. */
void registry_read(struct registry *registry, const char *dir);

/* Adds the codes that codes.lock lacks. */
void registry_update_lock(const struct registry *registry);

/* ---- its laws: fwgen_check.c, fwgen_words.c --------------------------- */

/* Orders the rows and complains about every law that they break. */
void registry_check(struct registry *registry);

/* Complains about texts that are not written as docs/registry.md asks. */
void row_check_words(const struct row *row);

/* ---- what is made of it ----------------------------------------------- */

struct text;

/* The C files, into `dir`: fwgen_c.c */
void write_c(const struct registry *registry, const char *dir);

/* The files for people and other programs, into `dir`: fwgen_docs.c */
void write_docs(const struct registry *registry, const char *dir);
void put_markdown(struct text *out, const struct registry *registry);
void put_registry_json(struct text *out, const struct registry *registry);

/* JSON Schemas, from the templates in registry/schemas/: fwgen_schema.c */
struct schema {
	const char *name;     /* "kaiza" */
	const char *constant; /* "FW_KAIZA" */
};
extern const struct schema schemas[];
extern const size_t schema_count;
void put_schema(struct text *out, const struct registry *registry, const struct schema *schema);

/* ---- memory, complaints, text: fwgen_text.c --------------------------- */

/* Zeroed memory; the process ends where there is none. */
void *keep(size_t size);
char *keep_text(const char *bytes, size_t len);
char *keep_format(const char *fmt, ...) PRINTF(1, 2);
void drop_everything(void);

/* "file:line: ..." on stderr. The run goes on, to find further faults, and
 * ends with status 1. */
void complain(const char *file, unsigned line, const char *fmt, ...) PRINTF(3, 4);
unsigned complaint_count(void);

/* For what leaves nothing to go on with: a file that cannot be written. */
_Noreturn void give_up(const char *fmt, ...) PRINTF(1, 2);

/* The file as text, kept; NULL where it does not exist. */
char *file_read(const char *path);

/* A growing text; all zero is empty. */
struct text {
	char *bytes;
	size_t len;
	size_t cap;
};

void text_put(struct text *out, const char *bytes, size_t len);
void text_puts(struct text *out, const char *string);
void text_putf(struct text *out, const char *fmt, ...) PRINTF(2, 3);
/* "file.not_found" as FILE_NOT_FOUND, "context-v0" as CONTEXT_V0. */
void text_put_upper(struct text *out, const char *name);
/* "file.not_found" as file_not_found. */
void text_put_snake(struct text *out, const char *name);
/* "file.not_found" as file-not-found. */
void text_put_kebab(struct text *out, const char *name);
/* A C string literal; each line of `string` begins a new piece of it. */
void text_put_c_string(struct text *out, const char *string, const char *indent);
/* The elements of a char array that holds `in` and a NUL: literals may not be
 * longer than 4095 bytes. */
void text_put_c_bytes(struct text *out, const struct text *in);
void text_put_json_string(struct text *out, const char *string);
/* Writes dir/name, making folders as needed, and empties `out`. */
void text_write(struct text *out, const char *dir, const char *name);

#endif
