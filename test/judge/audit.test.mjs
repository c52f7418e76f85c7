// Lines of the audit log, of this version and of earlier ones, judged by ajv with the
// schema that docs/ publishes.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import Ajv2020 from "ajv/dist/2020.js";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const program = process.env.FAULTWIRE ?? join(root, "build/faultwire");
const schema = JSON.parse(readFileSync(join(root, "docs/audit-record.schema.json"), "utf8"));
const judge = new Ajv2020({ allErrors: true, strict: false }).compile(schema);

function judged(path) {
	const lines = readFileSync(path, "utf8").trim().split("\n").map((line) => JSON.parse(line));
	for (const line of lines) assert.ok(judge(line), `${JSON.stringify(line)}\n${JSON.stringify(judge.errors)}`);
	return lines;
}

const meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} };
const call = (id, name, args) => JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args, _meta: meta } });

test("records of every code match the published schema", () => {
	const dir = mkdtempSync(join(tmpdir(), "fw-judge-audit-"));
	const codes = JSON.parse(spawnSync(program, ["registry", "--json"], { encoding: "utf8", maxBuffer: 1 << 26 }).stdout).map(({ code }) => code);
	const input = [...codes.map((code, i) => call(i, "raise_error", { code })), "nonsense", call("x", "no_such_tool", {})].join("\n") + "\n";
	for (const args of ["hash", "redacted"]) {
		const log = join(dir, `${args}.jsonl`);
		const run = spawnSync(program, ["serve", "--run", "inline", "--log", "off", "--incidents", "off", "--audit", log, "--audit-args", args, "--audit-sync", "off"],
			{ input, env: { ...process.env, XDG_STATE_HOME: dir }, maxBuffer: 1 << 28 });
		assert.equal(run.status, 0, String(run.stderr));
		const lines = judged(log);
		assert.ok(lines.length >= codes.length, `${lines.length} records of ${codes.length} codes`);
		assert.ok(lines.every(({ event, tool_name, message }) => event === "note" || (tool_name && message)));
	}
});

test("records of earlier versions match it too", () => {
	assert.equal(judged(join(root, "test/wire/data/audit-old.jsonl")).length, 3);
});
