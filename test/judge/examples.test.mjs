/*
 * The examples of the contract documents come out: byte for byte in compact form
 * where a contract fixes the bytes, field for field elsewhere. The copies here
 * are the tests' own.
 */
import assert from "node:assert/strict";
import test from "node:test";
import { NOW, byHand, contextMessages, convert, faultwire, published } from "./lib.mjs";

const compact = (value) => JSON.stringify(value);

/* Read, found out, and written again: the same fields in the same order. */
function comesOut(contract, example, more = []) {
	const text = compact(example);
	for (const from of [contract, "auto"]) {
		const out = convert(from, contract, text + "\n", more);
		assert.equal(out, text + "\n", `${contract}, read as ${from}`);
	}
	for (const validate of [byHand(contract), published(contract)])
		assert.ok(validate(example), JSON.stringify(validate.errors));
	const verdict = faultwire(["validate", "--contract", contract], text);
	assert.equal(verdict.status, 0, verdict.stdout + verdict.stderr);
}

function isUnlawful(contract, value, pointer) {
	const run = faultwire(["validate", "--contract", contract, "--json"], compact(value));
	assert.equal(run.status, 1, run.stdout + run.stderr);
	if (pointer !== undefined)
		assert.ok(run.stdout.includes(`"pointer":"${pointer}"`), run.stdout);
	assert.ok(!published(contract)(value));
}

/* ---- context-v0 --------------------------------------------------------- */

for (const [code, message] of Object.entries(contextMessages))
	test(`context-v0: ${code}, byte for byte`, () => {
		const bytes = `{"error":{"code":"${code}","message":"${message}"}}\n`;
		assert.equal(convert("context-v0", "context-v0", bytes), bytes);
		assert.equal(convert("auto", "context-v0", bytes), bytes);
	});

test("context-v0: another message gives way to the canonical one", () => {
	assert.equal(
		convert("context-v0", "context-v0", '{"error":{"code":"io_error","message":"/etc/x"}}'),
		'{"error":{"code":"io_error","message":"I/O error occurred"}}\n');
});

test("context-v0: extra fields are forbidden", () => {
	isUnlawful("context-v0", {
		error: { code: "cache_invalid", message: "Cache exists but is invalid", details: {} },
	});
});

test("context-v0: success and error mixed is forbidden", () => {
	isUnlawful("context-v0", {
		documents: [],
		error: { code: "internal_error", message: "Internal error" },
	});
});

test("context-v0: no other code, no empty message", () => {
	isUnlawful("context-v0", { error: { code: "cache_gone", message: "x" } }, "/error/code");
	isUnlawful("context-v0", { error: { code: "io_error", message: "" } }, "/error/message");
});

/* ---- toolerror ---------------------------------------------------------- */

const toolerror = {
	"not found": '{"type":"NOT_FOUND","message":"agent \\"fd-safety\\" not registered","recoverable":false}',
	conflict: '{"type":"CONFLICT","message":"reservation conflict: 2 conflicts","recoverable":true,' +
		'"data":{"conflicts":[{"agent_id":"agent-2","pattern":"src/*.go","held_by":"agent-2"}]}}',
	"rate limited": '{"type":"TRANSIENT","message":"rate limited","recoverable":true,"data":{"retry_after":30}}',
};

for (const [name, bytes] of Object.entries(toolerror))
	test(`toolerror: ${name}, byte for byte`, () => {
		comesOut("toolerror", JSON.parse(bytes));
		assert.equal(convert("toolerror", "toolerror", bytes), bytes + "\n");
	});

/* What Go's json.Marshal makes of the same three. Maps come out sorted. */
const toolerrorGo = {
	...toolerror,
	conflict: '{"type":"CONFLICT","message":"reservation conflict: 2 conflicts","recoverable":true,' +
		'"data":{"conflicts":[{"agent_id":"agent-2","held_by":"agent-2","pattern":"src/*.go"}]}}',
};

for (const [name, bytes] of Object.entries(toolerrorGo))
	test(`toolerror: ${name}, as Go writes it`, () => {
		assert.equal(convert("toolerror", "toolerror", toolerror[name], ["--go-escape"]), bytes + "\n");
	});

test("toolerror: Go's escapes", () => {
	const plain = '{"type":"VALIDATION","message":"<a> & \u2028\u2029 \\u0001\\t\u007f\u00e9","recoverable":false,' +
		'"data":{"z":"<","a":{"c":1,"b":[true,null]}}}';
	assert.equal(convert("toolerror", "toolerror", plain), plain + "\n");
	assert.equal(convert("toolerror", "toolerror", plain, ["--go-escape"]),
		'{"type":"VALIDATION","message":"\\u003ca\\u003e \\u0026 \\u2028\\u2029 \\u0001\\t\u007f\u00e9",' +
		'"recoverable":false,"data":{"a":{"b":[true,null],"c":1},"z":"\\u003c"}}\n');
});

/* ---- codeintel ---------------------------------------------------------- */

const openFile = { path: "", content: "", lines: 0, size: 0 };

const codeintel = {
	"open_file, file not found": {
		...openFile,
		error: "File not found: src/main.py",
		problem: {
			type: "https://kgfoundry.dev/problems/file-not-found",
			title: "File Not Found",
			status: 404,
			detail: "File not found: src/main.py",
			instance: "urn:codeintel:files:open_file",
			code: "file-not-found",
		},
	},
	"open_file, invalid line range": {
		...openFile,
		error: "start_line must be a positive integer",
		problem: {
			type: "https://kgfoundry.dev/problems/invalid-parameter",
			title: "Invalid Parameter",
			status: 400,
			detail: "start_line must be a positive integer",
			instance: "urn:codeintel:files:open_file",
			code: "invalid-parameter",
			extensions: { path: "src/main.py", start_line: 0, end_line: 10 },
		},
	},
	"search_text, timeout": {
		matches: [],
		total: 0,
		truncated: false,
		error: "Search timeout",
		problem: {
			type: "https://kgfoundry.dev/problems/vector-search-error",
			title: "Vector Search Error",
			status: 503,
			detail: "Search timeout",
			instance: "urn:codeintel:search:text",
			code: "vector-search-error",
			extensions: { query: "def main" },
		},
	},
};

for (const [name, example] of Object.entries(codeintel))
	test(`codeintel: ${name}`, () => comesOut("codeintel", example));

/* FR-ERR-011: the empty result of each tool stands before the error. */
const emptyResults = {
	open_file: '{"path":"","content":"","lines":0,"size":0',
	list_paths: '{"items":[],"total":0,"truncated":false',
	blame_range: '{"blame":[]',
	file_history: '{"commits":[]',
	search_text: '{"matches":[],"total":0,"truncated":false',
	semantic_search: '{"findings":[],"answer":"","confidence":0.0',
};

for (const [tool, empty] of Object.entries(emptyResults))
	test(`codeintel: the empty result of ${tool} is kept, byte for byte`, () => {
		const { error, problem } = codeintel["open_file, file not found"];
		const bytes = `${empty},"error":${compact(error)},"problem":${compact(problem)}}`;
		assert.equal(convert("codeintel", "codeintel", bytes), bytes + "\n");
	});

/* ---- owlclaw ------------------------------------------------------------ */

const owlclaw = {
	error: {
		code: "protocol.unsupported_version",
		message: "Unsupported protocol version",
		category: "compatibility",
		retryable: false,
		incident_id: "inc_20260226_001",
		details: { supported_versions: ["2025-06", "2025-03"] },
	},
};

test("owlclaw: the MCP example", () => comesOut("owlclaw", owlclaw));

const owlclawApi = {
	type: "https://owlclaw.dev/problems/protocol-version",
	title: "Unsupported protocol version",
	status: 400,
	code: "protocol.unsupported_version",
	category: "compatibility",
	retryable: false,
	incident_id: "inc_20260226_001",
	details: { supported_versions: ["v1"] },
};

test("owlclaw: the API example, field for field", () => {
	for (const from of ["owlclaw-api", "auto"]) {
		const out = JSON.parse(convert(from, "owlclaw-api", compact(owlclawApi)));
		for (const [key, value] of Object.entries(owlclawApi))
			assert.deepEqual(out[key], value, key);
		/* The ruling has two members more than the example; nothing else. */
		assert.deepEqual(Object.keys(out).filter((key) => !(key in owlclawApi)),
			["detail", "instance"]);
	}
});

test("owlclaw: one example said in the other form", () => {
	const mcp = JSON.parse(convert("owlclaw-api", "owlclaw", compact(owlclawApi)));
	assert.deepEqual(mcp, {
		error: { ...owlclaw.error, details: owlclawApi.details },
	});
	const api = JSON.parse(convert("owlclaw", "owlclaw-api", compact(owlclaw)));
	for (const [key, value] of Object.entries({ ...owlclawApi, details: owlclaw.error.details }))
		assert.deepEqual(api[key], value, key);
});

/* ---- kaiza -------------------------------------------------------------- */

/* The column "Example" of the contract's table of fields. */
const kaiza = {
	error_code: "INVALID_INPUT_TYPE",
	human_message: "path must be a string",
	role: "WINDSURF",
	session_id: "550e8400-e29b-41d4-a716-446655440000",
	workspace_root: "/home/user/project",
	tool_name: "write_file",
	invariant_id: "MANDATORY_DIAGNOSTICS",
	phase_id: "PHASE_5A",
	plan_hash: "abc123def456",
	cause: { message: "bad type", code: "ERR_TYPE", name: "TypeError" },
	timestamp: "2026-01-19T15:32:10.123Z",
};

test("kaiza: the fields of the contract's table", () => comesOut("kaiza", kaiza));

for (const [name, change] of Object.entries({
	"before a session: nulls": {
		role: null, session_id: null, workspace_root: null, invariant_id: null,
		phase_id: null, plan_hash: null, cause: null,
	},
	"a string thrown": { cause: "it broke", human_message: "An unexpected error occurred",
		error_code: "UNKNOWN_TOOL_FAILURE" },
	"an object thrown is kept as it is": { cause: { z: [1, { y: null }], a: "b" } },
	"a stack trace": { stack_trace: "Error: x\n    at write_file (a.js:1:2)" },
	"invariantViolation": { error_code: "INVARIANT_VIOLATION",
		human_message: "Session was not initialized", cause: null },
	"toolFailure": { error_code: "INVALID_PATH",
		human_message: "Invalid file path: contains ../ traversal" },
	"startupFailure": { error_code: "BOOTSTRAP_FAILURE",
		human_message: "Failed to bootstrap MCP server" },
}))
	test(`kaiza: ${name}`, () => comesOut("kaiza", { ...kaiza, ...change },
		"stack_trace" in change ? ["--stack"] : []));

test("kaiza: a stack trace is shown only where it is asked for", () => {
	const text = compact({ ...kaiza, stack_trace: "secret place" });
	assert.equal(convert("kaiza", "kaiza", text), compact(kaiza) + "\n");
});

test("kaiza: a member left out, or undefined, or of another type is invalid", () => {
	for (const key of Object.keys(kaiza)) {
		const less = { ...kaiza };
		delete less[key];
		isUnlawful("kaiza", less);
		isUnlawful("kaiza", { ...kaiza, [key]: 5 }, `/${key}`);
	}
	for (const key of ["error_code", "human_message", "tool_name", "timestamp"])
		isUnlawful("kaiza", { ...kaiza, [key]: null }, `/${key}`);
});

test("kaiza: an unregistered code is refused", () => {
	isUnlawful("kaiza", { ...kaiza, error_code: "MADE_UP" }, "/error_code");
	const run = faultwire(["convert", "--from", "kaiza", "--to", "kaiza"],
		compact({ ...kaiza, error_code: "MADE_UP" }));
	assert.notEqual(run.status, 0);
	assert.match(run.stderr, /MADE_UP/);
});

/* The forbidden patterns at the end of the contract. */
test("kaiza: {ok: false, error} is not an envelope", () => {
	isUnlawful("kaiza", { ok: false, error: "Something failed" });
	const out = JSON.parse(convert("auto", "kaiza", '{"ok":false,"error":"Something failed"}'));
	assert.equal(out.error_code, "UNKNOWN_TOOL_FAILURE");
	assert.deepEqual(out.cause, { ok: false, error: "Something failed" });
	assert.equal(out.timestamp, NOW);
});

test("kaiza: a bare string thrown", () => {
	const out = JSON.parse(convert("auto", "kaiza", "Something failed\n"));
	assert.equal(out.error_code, "UNKNOWN_TOOL_FAILURE");
	assert.equal(out.human_message, "An unexpected error occurred");
	assert.equal(out.cause, "Something failed");
	assert.ok(byHand("kaiza")(out), JSON.stringify(byHand("kaiza").errors));
});
