/*
 * fwgen.h - shared by the parts of fwgen: the parsed registry, and text output.
 *
 * fwgen generates code of the library, so it must not use the library. It runs in
 * every build, so it needs nothing but libc.
 *
 * The one rule to remember: nothing is freed individually. Memory from keep() lives
 * until drop_everything(), at the end of main.
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

/* ---- the parsed registry: fwgen_parse.c, fwgen_keys.c ---- */

enum { PARAMS_MAX = 8, FACTS_MAX = 4, NUMBER_MAX = 99999 };

/* Contracts that have their own set of codes. */
enum contract { KAIZA, CONTEXT_V0, CODEINTEL, TOOLERROR, OWLCLAW, CONTRACT_COUNT };

enum param_type { STRING, I64, U64, F64, BOOL, JSON, PARAM_TYPE_COUNT };

/* The keys of a stanza. */
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
	KEY_REPLY,
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
	unsigned line[KEY_COUNT];    /* line number of each key; 0: missing */
	const char *text[KEY_COUNT]; /* unparsed, with continued lines joined */

	int number;
	const char *code;
	int category, type, retry, severity, origin; /* indexes in the names below */
	bool recoverable;
	int status;
	int jsonrpc;
	const char *code_in[CONTRACT_COUNT];
	unsigned reads; /* bit 1u << contract */
	/* The least retryable class of all rows with the same code; see lower_retry(). */
	int read_retry[CONTRACT_COUNT];
	struct param params[PARAMS_MAX];
	size_t param_count;
	bool contract_style;
	bool is_protocol_error;  /* never the result of a tool */
	const char *retired;     /* the release that retired it, or NULL */
	const char *replaced_by; /* its successor, or NULL */
};

/* One code of a contract's closed set, and the facts that the contract states. */
struct contract_code {
	const char *file;
	unsigned line;
	enum contract contract;
	const char *code;
	const char *facts[FACTS_MAX];
	size_t fact_count;
};

/* One line of codes.lock: a released code. */
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
	struct row **rows; /* sorted by number after the check */
	size_t row_count;
	struct contract_code *codes;
	size_t code_count;
	struct lock *locks;
	size_t lock_count;
};

/* Names as written in stanzas and on the wire; each list ends in NULL. */
extern const char *const category_names[];
extern const char *const type_names[];
extern const char *const retry_names[];
extern const char *const severity_names[];
extern const char *const origin_names[];
extern const char *const contract_names[];
extern const char *const param_type_names[];

/* Index of `name` in `names`; -1 if it is not there. */
int name_index(const char *const *names, const char *name);

/* Cuts the next word off *at; NULL if there is none. */
char *next_word(char **at);

/* Index of `word` in `names`, or its numeric value. Anything else is reported, with
 * what is expected. */
int parse_name(const char *file, unsigned line, const char *what, const char *const *names,
	       const char *word);
int parse_number(const char *file, unsigned line, const char *what, int least, int most,
		 const char *word);

/* Parses the texts of a row. The required ones are present. */
void row_parse_keys(struct row *row);

/* Reads all files in `dir`. Faults are reported with complain(). */
void registry_read(struct registry *registry, const char *dir);

/* Appends the codes that are missing in codes.lock. */
void registry_update_lock(const struct registry *registry);

/* ---- rules: fwgen_check.c, fwgen_words.c ---- */

/* Sorts the rows and reports every rule that they violate. */
void registry_check(struct registry *registry);

/* The row that the code of `row` in `contract` is read as; NULL if there is none. */
const struct row *row_reader(const struct registry *registry, const struct row *row,
			     enum contract contract);

/* Reports texts that do not follow the wording rules of docs/registry.md. */
void row_check_words(const struct row *row);

/* ---- output ---- */

struct text;

/* The C files, into `dir` (fwgen_c.c). */
void write_c(const struct registry *registry, const char *dir);

/* The files for people and other programs, into `dir` (fwgen_docs.c). */
void write_docs(const struct registry *registry, const char *dir);
void put_markdown(struct text *out, const struct registry *registry);
/* Rewrites the generated part of dir/contracts.md, if that file exists (fwgen_lost.c). */
void write_lost(const struct registry *registry, const char *dir);
void put_registry_json(struct text *out, const struct registry *registry);

/* JSON Schemas, from the templates in registry/schemas/ (fwgen_schema.c). */
struct schema {
	const char *name;     /* "kaiza" */
	const char *constant; /* "FW_KAIZA" */
};
extern const struct schema schemas[];
extern const size_t schema_count;
/* Names of further schemas, of the codeintel contract; ends in NULL. */
extern const char *const more_schemas[];
void put_schema(struct text *out, const struct registry *registry, const char *schema);

/* ---- memory, messages, text: fwgen_text.c ---- */

/* Zeroed memory; exits if there is none. */
void *keep(size_t size);
char *keep_text(const char *bytes, size_t len);
char *keep_format(const char *fmt, ...) PRINTF(1, 2);
void drop_everything(void);

/* Prints "file:line: ..." on stderr. The run continues, to find further faults, and
 * ends with status 1. */
void complain(const char *file, unsigned line, const char *fmt, ...) PRINTF(3, 4);
unsigned complaint_count(void);

/* For failures that end the run at once, such as a file that cannot be written. */
_Noreturn void give_up(const char *fmt, ...) PRINTF(1, 2);

/* The contents of a file, kept; NULL if it does not exist. */
char *file_read(const char *path);

/* A growing text; zeroed is empty. */
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
/* A C string literal; each line of `string` begins a new part of it. */
void text_put_c_string(struct text *out, const char *string, const char *indent);
/* The elements of a char array with `in` and a NUL, because string literals may not
 * be longer than 4095 bytes. */
void text_put_c_bytes(struct text *out, const struct text *in);
void text_put_json_string(struct text *out, const char *string);
/* Writes dir/name, creating directories as needed, and empties `out`. */
void text_write(struct text *out, const char *dir, const char *name);

#endif
