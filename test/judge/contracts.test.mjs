/*
 * Every code in every contract, judged by ajv against two schemas: the one that
 * the program publishes, and one written by hand from the contract's text.
 */
import assert from "node:assert/strict";
import test from "node:test";
import {
	NOW, INCIDENT, byHand, contracts, convertLines, examples, faultwire, lines, published,
	random, contextMessages,
} from "./lib.mjs";

const canonical = examples();
const codes = canonical.map((line) => JSON.parse(line).code);

/* Written once, read by all tests: encoded[contract][i] is code i. */
const encoded = Object.fromEntries(
	contracts.map((to) => [to, convertLines("canonical", to, canonical)]));
const parsed = Object.fromEntries(
	contracts.map((to) => [to, encoded[to].map((line) => JSON.parse(line))]));
const judges = Object.fromEntries(
	contracts.map((name) => [name, { published: published(name), byHand: byHand(name) }]));

function judge(name, value, what) {
	for (const [which, validate] of Object.entries(judges[name]))
		assert.ok(validate(value),
			`${what}: ${which} schema of ${name}: ${JSON.stringify(validate.errors)}\n` +
			JSON.stringify(value));
}

test("there is one example for each code, and codes are distinct", () => {
	assert.ok(codes.length >= 100, `only ${codes.length} codes`);
	assert.equal(new Set(codes).size, codes.length);
	for (const code of codes)
		assert.match(code, /^[a-z][a-z0-9]*(_[a-z0-9]+)*\.[a-z][a-z0-9]*(_[a-z0-9]+)*$/);
});

for (const name of contracts)
	test(`every code encoded as ${name} is valid`, () => {
		parsed[name].forEach((value, i) => judge(name, value, codes[i]));
	});

for (const name of contracts)
	test(`every code encoded as ${name}, read and written again, is the same bytes`, () => {
		const again = convertLines(name, name, encoded[name]);
		again.forEach((line, i) => assert.equal(line, encoded[name][i], codes[i]));
	});

for (const name of contracts)
	test(`every code encoded as ${name} is found out to be ${name}`, () => {
		const again = convertLines("auto", name, encoded[name]);
		again.forEach((line, i) => assert.equal(line, encoded[name][i], codes[i]));
	});

for (const from of contracts)
	test(`every code from ${from} into every other contract is valid, twice the same`, () => {
		for (const to of contracts) {
			const out = convertLines(from, to, encoded[from]);
			out.forEach((line, i) =>
				judge(to, JSON.parse(line), `${codes[i]} from ${from}`));
			const again = convertLines(to, to, out);
			again.forEach((line, i) =>
				assert.equal(line, out[i], `${codes[i]} from ${from} to ${to}`));
		}
	});

test("text is compact: what JSON.stringify would write", () => {
	for (const name of contracts)
		encoded[name].forEach((line, i) =>
			assert.equal(line, JSON.stringify(parsed[name][i]), `${name} ${codes[i]}`));
});

/* ---- key order ---------------------------------------------------------- */

const order = {
	kaiza: ["error_code", "human_message", "role", "session_id", "workspace_root",
		"tool_name", "invariant_id", "phase_id", "plan_hash", "cause", "timestamp",
		"stack_trace?"],
	"context-v0": ["error"],
	"context-v0/error": ["code", "message"],
	codeintel: ["error", "problem"],
	"codeintel/problem": ["type", "title", "status", "detail", "instance", "code",
		"extensions?"],
	toolerror: ["type", "message", "recoverable", "data?"],
	owlclaw: ["error"],
	"owlclaw/error": ["code", "message", "category", "retryable", "incident_id", "details?",
		"retry_after?"],
	"owlclaw-api": ["type", "title", "status", "detail", "instance", "code", "category",
		"retryable", "incident_id", "details?", "retry_after?"],
};

function keysAre(value, rule, what) {
	const want = order[rule]
		.filter((key) => !key.endsWith("?") || key.slice(0, -1) in value)
		.map((key) => key.replace("?", ""));
	assert.deepEqual(Object.keys(value), want, `${what}: keys of ${rule}`);
}

test("keys stand in the order of the ruling", () => {
	codes.forEach((code, i) => {
		for (const name of ["kaiza", "context-v0", "toolerror", "owlclaw", "owlclaw-api"])
			keysAre(parsed[name][i], name, code);
		keysAre(parsed["context-v0"][i].error, "context-v0/error", code);
		keysAre(parsed.owlclaw[i].error, "owlclaw/error", code);
		keysAre(parsed.codeintel[i].problem, "codeintel/problem", code);
		assert.deepEqual(Object.keys(parsed.codeintel[i]).slice(-2), order.codeintel, code);
	});
});

test("a cause made by us has message, code, name in that order", () => {
	for (const value of parsed.kaiza)
		if (value.cause !== null && typeof value.cause === "object")
			assert.deepEqual(Object.keys(value.cause).slice(0, 3), ["message", "code", "name"]);
});

/* ---- what each contract says of its codes ------------------------------- */

test("kaiza: all 35 codes are reached", () => {
	const all = judges.kaiza.byHand.schema.properties.error_code.enum;
	assert.equal(all.length, 35);
	assert.deepEqual([...new Set(parsed.kaiza.map((v) => v.error_code))].sort(), [...all].sort());
});

test("kaiza: the time and the code are those given", () => {
	parsed.kaiza.forEach((value, i) => {
		const given = JSON.parse(canonical[i]).timestamp;
		assert.equal(value.timestamp, given ?? NOW, codes[i]);
	});
});

test("context-v0: all six codes, each with its canonical message and nothing else", () => {
	const seen = new Set();
	encoded["context-v0"].forEach((line, i) => {
		const { code } = parsed["context-v0"][i].error;
		assert.equal(line, JSON.stringify({ error: { code, message: contextMessages[code] } }),
			codes[i]);
		seen.add(code);
	});
	assert.deepEqual([...seen].sort(), Object.keys(contextMessages).sort());
});

const codeintelStatus = {
	"file-not-found": 404,
	"unsupported-encoding": 415,
	"invalid-parameter": 400,
	forbidden: 403,
	"git-operation-error": 500,
	"vector-search-error": 503,
	"embedding-error": 503,
	"internal-error": 500,
};

test("codeintel: all eight codes, each with its status; code ends the type", () => {
	const seen = new Set();
	parsed.codeintel.forEach(({ error, problem }, i) => {
		assert.equal(problem.type, `https://kgfoundry.dev/problems/${problem.code}`, codes[i]);
		assert.equal(problem.detail, error, codes[i]);
		if (problem.code in codeintelStatus) {
			assert.equal(problem.status, codeintelStatus[problem.code], codes[i]);
			seen.add(problem.code);
		} else {
			assert.equal(problem.code, codes[i].replace(/[._]/g, "-"), "the default code");
		}
	});
	assert.deepEqual([...seen].sort(), Object.keys(codeintelStatus).sort());
});

const codeintelTitle = {
	"file-not-found": "File Not Found",
	"unsupported-encoding": "Unsupported Encoding",
	forbidden: "Forbidden",
	"git-operation-error": "Git Operation Error",
	"vector-search-error": "Vector Search Error",
	"embedding-error": "Embedding Error",
};

test("codeintel: titles are spaced words", () => {
	const read = Object.keys(codeintelTitle).map((code) => JSON.stringify({
		error: "x",
		problem: { type: `https://kgfoundry.dev/problems/${code}`, title: codeintelTitle[code],
			status: codeintelStatus[code], detail: "x",
			instance: "urn:codeintel:files:open_file", code },
	}));
	convertLines("codeintel", "codeintel", read).forEach((line, i) =>
		assert.equal(line, read[i]));
	for (const { problem } of parsed.codeintel)
		assert.match(problem.title, /^[A-Z][A-Za-z0-9/-]*( [A-Za-z0-9/-]+)*$/);
});

test("toolerror: all six types; TRANSIENT is recoverable, the others not by themselves", () => {
	const types = judges.toolerror.byHand.schema.properties.type.enum;
	assert.deepEqual([...new Set(parsed.toolerror.map((v) => v.type))].sort(), [...types].sort());
	parsed.toolerror.forEach((value, i) => {
		if (value.type !== "CONFLICT")
			assert.equal(value.recoverable, value.type === "TRANSIENT", codes[i]);
		if ("data" in value)
			assert.notEqual(Object.keys(value.data).length, 0, codes[i]);
	});
});

test("toolerror: the two serialisations say the same", () => {
	const go = convertLines("canonical", "toolerror", canonical, ["--go-escape"]);
	go.forEach((line, i) => {
		assert.deepEqual(JSON.parse(line), parsed.toolerror[i], codes[i]);
		assert.doesNotMatch(line, /[<>&\u2028\u2029]/, codes[i]);
		if (parsed.toolerror[i].data) {
			const keys = Object.keys(JSON.parse(line).data);
			assert.deepEqual(keys, [...keys].sort(), codes[i]);
		}
	});
});

/* code, status, category, retryable, alert level: the contract's matrix. */
const matrix = [
	["protocol.unsupported_version", [400, 426], "compatibility", false, "warning"],
	["protocol.version_conflict", [400], "validation", false, "warning"],
	["governance.rate_limited", [429], "governance", true, "warning"],
	["governance.budget_exceeded", [403], "governance", false, "critical"],
	["auth.unauthorized", [401], "auth", false, "critical"],
	["auth.forbidden", [403], "auth", false, "critical"],
	["runtime.timeout", [504], "runtime", true, "warning"],
	["dependency.unavailable", [503], "dependency", true, "warning"],
	["internal.unexpected", [500], "internal", false, "critical"],
];

test("owlclaw: the nine codes of the matrix are as the matrix says", () => {
	for (const [code, statuses, category, retryable, severity] of matrix) {
		const i = codes.indexOf(code);
		assert.notEqual(i, -1, code);
		const api = parsed["owlclaw-api"][i];
		assert.ok(statuses.includes(api.status), `${code}: ${api.status}`);
		assert.equal(api.category, category, code);
		assert.equal(api.retryable, retryable, code);
		assert.equal(JSON.parse(canonical[i]).severity, severity, code);
	}
});

test("owlclaw: code, category, retryable and incident are the same on both surfaces", () => {
	codes.forEach((code, i) => {
		const mcp = parsed.owlclaw[i].error;
		const api = parsed["owlclaw-api"][i];
		const own = JSON.parse(canonical[i]);
		assert.equal(mcp.code, code);
		for (const key of ["code", "category", "retryable", "incident_id", "details", "retry_after"])
			assert.deepEqual(api[key], mcp[key], `${code}: ${key}`);
		assert.equal(mcp.category, own.category, code);
		assert.equal(mcp.retryable, own.retry === "backoff", code);
		assert.equal(api.status, own.status, code);
		assert.equal(mcp.incident_id, own.incident_id ?? INCIDENT, code);
		assert.ok(!("retry_after" in mcp) || mcp.retryable, `${code}: delay without retry`);
		const slug = code === "protocol.unsupported_version"
			? "protocol-version" : code.replace(/[._]/g, "-");
		assert.equal(api.type, `https://owlclaw.dev/problems/${slug}`, code);
	});
});

test("nothing is invented: what kaiza does not say stays null or the row's", () => {
	const kaiza = convertLines("context-v0", "kaiza", encoded["context-v0"]).map((l) => JSON.parse(l));
	for (const value of kaiza)
		for (const key of ["role", "session_id", "workspace_root", "invariant_id", "phase_id",
			"plan_hash"])
			assert.equal(value[key], null, key);
});

/* ---- our validator against ajv ------------------------------------------ */

const words = ["", "x", "NOT_FOUND", "cache_missing", "file-not-found", "INTERNAL_ERROR",
	"governance.rate_limited", "validation", "backoff", "not a code", "\u2028", "inc_1",
	"2026-01-19T15:32:10.123Z", "2026-02-30T15:32:10.123Z", "https://kgfoundry.dev/problems/forbidden",
	"https://owlclaw.dev/problems/x", "urn:codeintel:files:open_file", "urn:codeintel:"];
const values = [null, true, false, 0, 1, -1, 0.5, 400, 404, 1e300, 399, 600, 100, [], {}, [1],
	{ a: 1 }, [[]], ["x"], { message: "m", code: "c", name: "n" }, 12345678901234567890];

/* Every object within, so that nested ones are mutated as often as the top. */
function objects(value, found = []) {
	if (value !== null && typeof value === "object") {
		if (!Array.isArray(value))
			found.push(value);
		Object.values(value).forEach((child) => objects(child, found));
	}
	return found;
}

function mutate(text, pick) {
	const copy = JSON.parse(text);
	for (let rounds = 1 + (pick(4) === 0); rounds > 0; rounds--) {
		const all = objects(copy);
		const target = all[pick(all.length)];
		const keys = Object.keys(target);
		const key = keys.length ? keys[pick(keys.length)] : "x";
		switch (pick(7)) {
		case 0: delete target[key]; break;
		case 1: target[key] = values[pick(values.length)]; break;
		case 2: target[key] = words[pick(words.length)]; break;
		case 3: target["extra" + pick(3)] = values[pick(values.length)]; break;
		case 4: target[key] = null; break;
		case 5: target[key.toUpperCase()] = target[key]; break;
		case 6: {
			const other = keys.length ? keys[pick(keys.length)] : "y";
			[target[key], target[other]] = [target[other], target[key]];
			break;
		}
		}
	}
	return JSON.stringify(copy);
}

/* One verdict a line, in the order of the input. */
function verdicts(name, input) {
	const run = faultwire(["validate", "--contract", name, "--lines", "--json"],
		input.join("\n") + "\n");
	assert.ok(run.status === 0 || run.status === 1, `exit ${run.status}: ${run.stderr}`);
	const out = lines(run.stdout).map((line) => JSON.parse(line));
	assert.equal(out.length, input.length, `${name}: one verdict a line`);
	return out;
}

const each = Number(process.env.FW_JUDGE_MUTATIONS ?? 2000);

for (const name of contracts)
	test(`${each} mutated envelopes: our verdict on ${name} is ajv's`, () => {
		const pick = random(20260119 + contracts.indexOf(name));
		const input = encoded[name].concat(Array.from({ length: each }, () =>
			mutate(encoded[name][pick(encoded[name].length)], pick)));
		const count = { valid: 0, invalid: 0, registry: 0 };

		verdicts(name, input).forEach((ours, i) => {
			const theirs = judges[name].published(JSON.parse(input[i]));
			const rules = (ours.violations ?? []).map((v) => v.rule);
			const bySchema = rules.filter((rule) => rule !== "registry");
			const what = `${input[i]}\n  ours: ${JSON.stringify(ours)}\n  ajv: ` +
				JSON.stringify(judges[name].published.errors);

			assert.equal(ours.valid, rules.length === 0, what);
			assert.equal(bySchema.length === 0, theirs, what);
			count[theirs ? "valid" : "invalid"]++;
			count.registry += theirs && !ours.valid;
			/* A pointer of ours names a place that ajv complains of too. */
			if (!theirs && rules.length < 64) {
				const places = new Set(judges[name].published.errors.map((e) => e.instancePath));
				assert.ok((ours.violations ?? []).some((v) =>
					[...places].some((p) => v.pointer.startsWith(p))), what);
			}
		});
		/* A test that never sees both verdicts judges nothing. */
		assert.ok(count.valid > each / 100 && count.invalid > each / 10,
			JSON.stringify(count));
	});

test("an envelope of one contract is invalid in the others", () => {
	for (const name of contracts)
		for (const other of contracts) {
			if (name === other)
				continue;
			const ours = verdicts(name, encoded[other]);
			encoded[other].forEach((line, i) => {
				const theirs = judges[name].published(JSON.parse(line));
				const bySchema = ours[i].violations.filter((v) => v.rule !== "registry");
				assert.equal(bySchema.length === 0, theirs, `${other} judged as ${name}: ${line}`);
				assert.equal(ours[i].valid, false, `${other} is valid ${name}: ${line}`);
			});
		}
});
