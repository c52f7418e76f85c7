/*
 * Context Resolve v0, judged from outside: its errors by ajv against the frozen
 * schema, its caches and its results by a reference written from the contract
 * in another language, with another Unicode library and another JSON writer.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import test, { after } from "node:test";
import { byHand, faultwire, published, random } from "./lib.mjs";

const dir = mkdtempSync(join(tmpdir(), "fw-context-judge-"));
after(() => rmSync(dir, { recursive: true, force: true }));

/* ---- the reference --------------------------------------------------------- */

const sha256 = (data) => `sha256:${createHash("sha256").update(data).digest("hex")}`;
const byBytes = (a, b) => Buffer.compare(Buffer.from(a.id), Buffer.from(b.id));
const words = (text) => text.toLowerCase().split(/\p{White_Space}+/u).filter((word) => word !== "");

/* The files of a cache, by name; `created_at` is the caller's. */
function referenceCache(sources, created_at) {
	const documents = Object.entries(sources).map(([source, content]) => {
		const version = sha256(content);
		return { id: source.replaceAll("\\", "/").toLowerCase(), version, source, content, file: `documents/${version.slice(7, 19)}.json` };
	}).sort(byBytes);
	const build_config = { version: "1", hash_algorithm: "sha256" };
	const listed = documents.map(({ id, version }) => `${id}:${version}`).join("");
	const cache_version = sha256(JSON.stringify(build_config) + listed);
	/* Keys that look like numbers would come first in an object. */
	const index = documents.map(({ id, file }) => `\n  ${JSON.stringify(id)}: ${JSON.stringify(file)}`).join(",");
	return {
		"manifest.json": JSON.stringify({ cache_version, build_config, created_at, document_count: documents.length,
			documents: documents.map(({ id, version, file }) => ({ id, version, file })) }, null, 2),
		"index.json": documents.length ? `{${index}\n}` : "{}",
		...Object.fromEntries(documents.map(({ id, version, source, content, file }) => [file, JSON.stringify({ id, version, source, content, metadata: {} })])),
	};
}

function shortestFloat(value) {
	for (let digits = 1; digits < 10; digits++) {
		const text = Number(value.toPrecision(digits));
		if (Math.fround(text) === value)
			return Number.isInteger(text) ? `${text}.0` : String(text);
	}
}

function referenceResolve(sources, query, budget) {
	const terms = [...new Set(words(query))];
	const all = Object.entries(sources).map(([source, content]) => {
		const list = words(content);
		const term_matches = list.filter((word) => terms.includes(word)).length;
		return { id: source.replaceAll("\\", "/").toLowerCase(), version: sha256(content), content, term_matches, total_words: list.length,
			score: list.length ? Math.fround(term_matches / list.length) : 0, tokens: Math.ceil(Buffer.byteLength(content) / 4) };
	}).sort((a, b) => b.score - a.score || byBytes(a, b));
	const chosen = [];
	let used = 0;
	for (const document of budget > 0 ? all : []) {
		if (used + document.tokens > budget)
			continue;
		used += document.tokens;
		chosen.push(document);
	}
	const documents = chosen.map((d) => `{"id":${JSON.stringify(d.id)},"version":"${d.version}","content":${JSON.stringify(d.content)},` +
		`"score":${shortestFloat(d.score)},"tokens":${d.tokens},"why":{"query_terms":${JSON.stringify(terms)},` +
		`"term_matches":${d.term_matches},"total_words":${d.total_words}}}`);
	return `{"documents":[${documents}],"selection":${JSON.stringify({ query, budget, tokens_used: used, documents_considered: all.length,
		documents_selected: chosen.length, documents_excluded_by_budget: all.length - chosen.length })}}\n`;
}

/* ---- what it is held against ----------------------------------------------- */

const roll = random(20260716);
const pick = (list) => list[roll(list.length)];
const vocabulary = ["the", "The", "THE", "deploy", "Deploy,", "guide", "ÄPFEL", "äpfel", "ΟΔΥΣΣΕΥΣ", "οδυσσευς", "Σ", "ΑΣ.", "İstanbul", "ẞ", "ß",
	"ǅ", "🙂", "𐐀x", "don't", "\u0001", "\"q\"", "\\", "\u200b", "ﬀ", "Ω", "K", "e\u0301", "É", "0", "-0", "null"];
const spaces = [" ", " ", " ", "\n", "\t", "\r\n", "\u00a0", "\u0085", "\u1680", "\u2003", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "\v", "\f"];
const prose = (count) => Array.from({ length: count }, () => pick(roll(4) ? vocabulary.slice(0, 6) : vocabulary) + pick(spaces)).join("");
const names = ["a", "A b", "Ärger", "x\\y", "sub/Deep/z", "ΟΔΟΣ", "10", "9", "-", "İ", "~", "sub", "emoji🙂"];

function randomSources() {
	const sources = {}, ids = new Set(), contents = new Set();
	for (let i = roll(25); i > 0; i--) {
		const name = `${pick(names)}${roll(3) ? roll(40) : ""}.md`;
		const id = name.replaceAll("\\", "/").toLowerCase();
		const content = prose(roll(1 + roll(60)));
		if (ids.has(id) || contents.has(content))
			continue;
		ids.add(id);
		contents.add(content);
		sources[name] = content;
	}
	return sources;
}

function writeAll(base, files) {
	mkdirSync(join(base, "documents"), { recursive: true });
	for (const [name, text] of Object.entries(files)) {
		mkdirSync(dirname(join(base, name)), { recursive: true });
		writeFileSync(join(base, name), text);
	}
}

function readAll(base) {
	const files = {};
	for (const name of ["manifest.json", "index.json", ...readdirSync(join(base, "documents")).map((file) => `documents/${file}`)])
		files[name] = readFileSync(join(base, name), "utf8");
	return files;
}

/* One server for all questions, a line each way. */
class Server {
	constructor(root) {
		this.child = spawn(process.env.FAULTWIRE ?? "build/faultwire", ["serve", "--tools", "context", "--cache-root", root], { stdio: ["pipe", "pipe", "inherit"] });
		this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
	}

	async call(name, args) {
		const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} };
		this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args, _meta } })}\n`);
		return JSON.parse((await this.lines.next()).value).result;
	}

	end() {
		this.child.stdin.end();
		return new Promise((done) => this.child.on("exit", done));
	}
}

/* ---- tests -------------------------------------------------------------------- */

test("caches and results are the reference's, to the byte", async () => {
	const root = join(dir, "caches");
	mkdirSync(root);
	const server = new Server(root);
	for (let round = 0; round < 12; round++) {
		const sources = randomSources();
		const from = join(dir, `sources${round}`), cache = join(root, `c${round}`);
		mkdirSync(from);
		for (const [name, text] of Object.entries(sources)) {
			mkdirSync(dirname(join(from, name)), { recursive: true });
			writeFileSync(join(from, name), text);
		}
		const built = faultwire(["context", "build", "--sources", from, "--cache", cache]);
		assert.equal(built.status, 0, built.stderr);
		const files = readAll(cache);
		const expected = referenceCache(sources, JSON.parse(files["manifest.json"]).created_at);
		assert.deepEqual(files, expected);
		/* And a cache that somebody else has built. */
		writeAll(join(root, `other${round}`), expected);
		for (let i = 0; i < 12; i++) {
			const query = prose(roll(6)), budget = roll(1 + roll(1500));
			const text = referenceResolve(sources, query, budget);
			const reply = await server.call("context.resolve", { cache: pick([`c${round}`, `other${round}`]), query, budget });
			assert.equal(reply.content[0].text, text);
			if (i === 0)
				assert.equal(faultwire(["context", "resolve", "--cache", cache, `--query=${query}`, `--budget=${budget}`]).stdout, text);
		}
	}
	assert.equal(await server.end(), 0);
});

test("every letter there is has the reference's lower case", () => {
	/* What Unicode has got since 14, which libunistring 1.0 does not know. */
	const isNew = (code) => (code >= 0xa7cb && code <= 0xa7dc && code !== 0xa7d0 && code !== 0xa7d6 && code !== 0xa7d8) || code === 0x1c89 ||
		(code >= 0x10d50 && code <= 0x10d65) || (code >= 0x16ea0 && code <= 0x16eb8);
	const letters = [];
	for (let code = 0x21; code < 0x20000; code++) {
		const text = String.fromCodePoint(code);
		if ((code < 0xd800 || code > 0xdfff) && !isNew(code) && text.toLowerCase() !== text)
			letters.push(text);
	}
	const from = join(dir, "letters");
	mkdirSync(from);
	writeFileSync(join(from, "upper.md"), letters.join(" "));
	faultwire(["context", "build", "--sources", from, "--cache", join(dir, "letters-cache")]);
	const query = letters.map((text) => text.toLowerCase()).join(" ");
	assert.ok(Buffer.byteLength(query) < 16384 && letters.length > 1300, `${letters.length}`);
	const { documents } = JSON.parse(faultwire(["context", "resolve", "--cache", join(dir, "letters-cache"), "--query", query, "--budget", "100000"]).stdout);
	assert.deepEqual([documents[0].why.term_matches, documents[0].why.total_words, documents[0].score], [letters.length, letters.length, 1]);
});

test("every error is valid by the frozen schema", async () => {
	const judges = [byHand("context-v0"), published("context-v0")];
	const root = join(dir, "root");
	mkdirSync(join(root, "broken"), { recursive: true });
	const server = new Server(root);
	const seen = new Set();
	for (const [tool, args] of [
		["context.resolve", {}], ["context.resolve", { query: "a" }], ["context.resolve", { query: "a", budget: 1 }], ["context.resolve", { query: "a", budget: 1, cache: "no" }],
		["context.resolve", { query: "a", budget: 1, cache: "broken" }], ["context.inspect_cache", {}], ["context.inspect_cache", { cache: "broken" }],
	]) {
		const { isError, content } = await server.call(tool, args);
		const error = JSON.parse(content[0].text);
		assert.equal(isError, true);
		for (const judge of judges)
			assert.ok(judge(error), JSON.stringify(judge.errors));
		seen.add(error.error.code);
	}
	assert.equal(await server.end(), 0);
	/* io_error and internal_error: test/wire/context_cli.mjs and context_permissions.mjs. */
	assert.deepEqual([...seen].sort(), ["cache_invalid", "cache_missing", "invalid_budget", "invalid_query"]);
	for (const code of ["io_error", "internal_error"])
		for (const judge of judges)
			assert.ok(judge({ error: { code, message: "m" } }));
});
