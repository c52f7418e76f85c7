/*
 * Schemas of public servers (test/schema/public): on instances made from each,
 * right ones and damaged ones, ajv and we say the same.
 *
 * Ours is test/schema/check.c: "schema TAB instance" in, 1, 0 or E out.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import Ajv from "ajv";
import Ajv2020 from "ajv/dist/2020.js";
import { random } from "./lib.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const folder = join(here, "..", "schema", "public");
const checker = join(process.env.FW_BUILD ?? join(here, "..", "..", "build"), "schema_check");
const INSTANCES = 36;

/* Formats are annotations for us as well. */
const options = { strict: false, validateFormats: false, allErrors: false, logger: false };

/* One of each for all schemas, since each compiles its meta-schemas first. */
const draft7 = new Ajv(options);
const draft2020 = new Ajv2020(options);

function judge(schema) {
	const ajv = /draft-0[4-7]/.test(String(schema.$schema ?? "")) ? draft7 : draft2020;
	ajv.removeSchema(); /* those before, which may have the same $id */
	return ajv.compile(schema);
}

/* ---- instances -------------------------------------------------------------- */

function deref(schema, root) {
	for (let i = 0; i < 8 && typeof schema?.$ref === "string"; i++) {
		let at = root;
		if (!schema.$ref.startsWith("#"))
			return true;
		for (const part of schema.$ref.slice(1).split("/").filter(Boolean))
			at = at?.[decodeURIComponent(part).replace(/~1/g, "/").replace(/~0/g, "~")];
		schema = at;
	}
	return schema;
}

const any = (pick) => [null, true, false, 0, 1, -1, 1.5, 1e21, "", "a", "http://a.b/c", [], [1], {}, { a: 1 }][pick(15)];

/* Something that the schema may well accept. */
function sample(schema, root, pick, depth = 0) {
	schema = deref(schema, root);
	if (!schema || typeof schema !== "object" || depth > 12)
		return any(pick);
	if ("const" in schema)
		return schema.const;
	if (Array.isArray(schema.enum) && schema.enum.length)
		return schema.enum[pick(schema.enum.length)];
	if ("default" in schema && pick(3) === 0)
		return schema.default;
	for (const word of ["anyOf", "oneOf"])
		if (Array.isArray(schema[word]) && schema[word].length && !schema.properties)
			return sample(schema[word][pick(schema[word].length)], root, pick, depth + 1);
	if (Array.isArray(schema.allOf) && !schema.properties) {
		const parts = schema.allOf.map((part) => sample(part, root, pick, depth + 1));
		return parts.every((part) => part && typeof part === "object" && !Array.isArray(part))
			? Object.assign({}, ...parts) : parts.at(-1);
	}
	const types = [schema.type ?? (schema.properties ? "object" : schema.items ? "array" : "any")].flat();
	switch (types[pick(types.length)]) {
	case "object": return sampleObject(schema, root, pick, depth);
	case "array": {
		const count = (schema.minItems ?? 0) + pick(3);
		return Array.from({ length: Math.min(count, 20) }, (_, i) =>
			sample(schema.prefixItems?.[i] ?? (Array.isArray(schema.items) ? schema.items[i] : schema.items), root, pick, depth + 1));
	}
	case "string": return sampleString(schema, pick);
	case "integer": return Math.ceil(sampleNumber(schema, pick));
	case "number": return sampleNumber(schema, pick);
	case "boolean": return pick(2) === 0;
	case "null": return null;
	default: return any(pick);
	}
}

function sampleObject(schema, root, pick, depth) {
	const made = {};
	for (const [name, part] of Object.entries(schema.properties ?? {}))
		if (schema.required?.includes(name) || pick(2) === 0)
			made[name] = sample(part, root, pick, depth + 1);
	for (const name of schema.required ?? [])
		if (!(name in made))
			made[name] = any(pick);
	if (schema.additionalProperties !== false && pick(3) === 0)
		made[pick(2) ? "extra" : "x-1"] = typeof schema.additionalProperties === "object"
			? sample(schema.additionalProperties, root, pick, depth + 1) : any(pick);
	return made;
}

function sampleString(schema, pick) {
	const texts = ["a", "hello", "2026-01-19", "2026-01-19T15:32:10Z", "https://example.com/a", "a@example.com",
		"123e4567-e89b-12d3-a456-426614174000", "#ff0000", "1", "1.2.3", "main", "owner/name", "\u00e9\ud83d\ude00", "A-1_b",
		"-122.4,37.8", "0123456789abcdef0123456789abcdef", "12:00", ""];
	const fit = schema.pattern ? texts.filter((text) => matches(schema.pattern, text)) : texts;
	let text = (fit.length ? fit : texts)[pick((fit.length ? fit : texts).length)];
	if (schema.minLength > [...text].length)
		text = text.padEnd(Math.min(schema.minLength + pick(2), 5000), "x");
	if (schema.maxLength !== undefined && [...text].length > schema.maxLength && pick(4))
		text = [...text].slice(0, schema.maxLength).join("");
	return text;
}

function matches(pattern, text) {
	try {
		return new RegExp(pattern, "u").test(text);
	} catch {
		return true;
	}
}

function sampleNumber(schema, pick) {
	const low = schema.minimum ?? (typeof schema.exclusiveMinimum === "number" ? schema.exclusiveMinimum + 1 : 0);
	const high = schema.maximum ?? (typeof schema.exclusiveMaximum === "number" ? schema.exclusiveMaximum - 1 : low + 100);
	return [low, high, low + pick(10), (low + high) / 2][pick(4)];
}

/* One thing changed somewhere in it. */
function damage(value, pick) {
	if (Array.isArray(value) && value.length && pick(4)) {
		const made = [...value], at = pick(made.length);
		if (pick(3) === 0)
			made.push(made[at]);
		else
			made[at] = damage(made[at], pick);
		return made;
	}
	if (value && typeof value === "object" && Object.keys(value).length && pick(6)) {
		const made = { ...value }, names = Object.keys(made), name = names[pick(names.length)];
		switch (pick(4)) {
		case 0: delete made[name]; break;
		case 1: made.surplus = any(pick); break;
		default: made[name] = damage(made[name], pick);
		}
		return made;
	}
	if (typeof value === "number" && pick(2))
		return [value + 0.5, -value - 1, value * 1000 + 1, value - 1][pick(4)];
	if (typeof value === "string" && pick(2))
		return ["", `${value}!`, value.repeat(40), value.toUpperCase(), ` ${value}`][pick(5)];
	return any(pick);
}

function instances(schema, seed) {
	const pick = random(seed);
	const made = [{}, null, [], "text", 0];
	while (made.length < INSTANCES) {
		const right = sample(schema, schema, pick);
		made.push(right, damage(right, pick));
	}
	/* What JSON has no word for is not an instance. */
	return made.map((value) => JSON.stringify(value) ?? "null");
}

/* ---- verdicts ----------------------------------------------------------------- */

function ours(lines) {
	const run = spawnSync(checker, { input: lines.join(""), encoding: "utf8", maxBuffer: 1 << 28 });
	if (run.error)
		throw run.error;
	assert.equal(run.status, 0, run.stderr);
	return run.stdout.trimEnd().split("\n");
}

const total = { made: 0, valid: 0 };
const files = readdirSync(folder).filter((name) => name.endsWith(".json"));

for (const [number, file] of files.entries())
	test(file, (t) => {
		const lines = [], expected = [], named = [];
		let valid = 0;
		for (const { tool, inputSchema, outputSchema } of JSON.parse(readFileSync(join(folder, file), "utf8")))
			for (const schema of [inputSchema, outputSchema]) {
				if (!schema)
					continue;
				const check = judge(schema);
				for (const text of instances(schema, number * 1000 + lines.length)) {
					lines.push(`${JSON.stringify(schema)}\t${text}\n`);
					expected.push(check(JSON.parse(text)) ? "1" : "0");
					named.push(`${tool}: ${text}\n  schema ${JSON.stringify(schema)}\n  ajv ${JSON.stringify(check.errors)}`);
					valid += expected.at(-1) === "1";
				}
			}
		const said = ours(lines);
		const differ = expected.map((verdict, i) => (verdict === said[i] ? "" : `ours ${said[i]}: ${named[i]}`)).filter(Boolean);
		assert.equal(said.length, expected.length);
		assert.deepEqual(differ.slice(0, 5).map((text) => text.slice(0, 3000)), [], `${differ.length} differ`);
		total.made += lines.length;
		total.valid += valid;
		t.diagnostic(`${lines.length} instances, ${valid} of them valid`);
	});

/* (Schemas that accept everything are among them: a converter that met another version's.) */
test("fifty servers, and instances of both kinds", (t) => {
	assert.ok(files.length >= 50);
	assert.ok(total.valid > total.made / 5 && total.valid < (total.made * 4) / 5);
	t.diagnostic(`${files.length} servers, ${total.made} instances, ${total.valid} of them valid`);
});
