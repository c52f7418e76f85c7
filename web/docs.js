/*
 * docs.js - the documentation of the program, which the server has as Markdown. It is read
 * into elements: headings, paragraphs, lists, tables, code, links, emphasis. Anything
 * else is shown as it is written.
 */
import { h } from './dom.js';

/* ---- within a line ---- */

const INLINE = /(`+)(.+?)\1|!?\[([^\]]*)\]\(([^)\s]*)\)|\*\*(.+?)\*\*|\*([^*\s][^*]*)\*/g;

/* Links to other pages of the documentation stay within it; those to files that are only
 * in the source become text. */
function link(text, target) {
	const [path, part] = target.split('#');
	if (/^https?:/.test(target))
		return h('a', { href: target, rel: 'noreferrer' }, text);
	if (/^[\w-]+\.md$/.test(path))
		return h('a', { href: `#/docs/${path}${part ? `?at=${encodeURIComponent(part)}` : ''}` }, text);
	return h('code', {}, text);
}

export function inline(text) {
	const parts = [];
	let at = 0;
	for (const match of text.matchAll(INLINE)) {
		parts.push(text.slice(at, match.index));
		if (match[2] !== undefined)
			parts.push(h('code', {}, match[2].trim()));
		else if (match[4] !== undefined)
			parts.push(match[0][0] === '!' ? match[3] : link(inline(match[3]), match[4]));
		else
			parts.push(h(match[5] !== undefined ? 'strong' : 'em', {}, inline(match[5] ?? match[6])));
		at = match.index + match[0].length;
	}
	parts.push(text.slice(at));
	return parts;
}

/* ---- blocks ---- */

/* As GitHub names headings. */
export function slug(text) {
	return text.toLowerCase().replace(/[^\w\- ]/g, '').replaceAll(' ', '-');
}

const cells = (line) => line.replace(/^\||\|\s*$/g, '').split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));

function table(lines) {
	const [head, , ...rows] = lines;
	const titles = cells(head);
	return h('div', { class: 'scroll', tabindex: '0' }, h('table', { class: 'rows' },
		titles.some(Boolean) ? h('thead', {}, h('tr', {}, titles.map((cell) => h('th', { scope: 'col' }, inline(cell))))) : null,
		h('tbody', {}, rows.map((row) => h('tr', {}, cells(row).map((cell) => h('td', {}, inline(cell))))))));
}

function list(lines) {
	const isOrdered = /^\d/.test(lines[0]);
	const items = [];
	for (const line of lines) {
		const item = line.match(/^(?:[-*]|\d+\.)\s+(.*)/);
		if (item)
			items.push(item[1]);
		else
			items[items.length - 1] += ` ${line.trim()}`;
	}
	return h(isOrdered ? 'ol' : 'ul', {}, items.map((item) => h('li', {}, inline(item))));
}

/* The elements of a page. */
export function markdown(text) {
	const lines = text.split('\n');
	const out = [];
	let at = 0;
	const take = (test) => {
		const taken = [];
		while (at < lines.length && test(lines[at], taken.length))
			taken.push(lines[at++]);
		return taken;
	};
	while (at < lines.length) {
		const line = lines[at];
		const heading = line.match(/^(#{1,6})\s+(.*)/);
		if (/^\s*$/.test(line)) {
			at++;
		} else if (heading) {
			out.push(h(`h${heading[1].length}`, { id: slug(heading[2]) }, inline(heading[2])));
			at++;
		} else if (/^\s*```/.test(line)) {
			at++;
			out.push(h('pre', { class: 'json', tabindex: '0' }, take((next) => !/^\s*```/.test(next)).join('\n')));
			at++;
		} else if (line.startsWith('|')) {
			out.push(table(take((next) => next.startsWith('|'))));
		} else if (/^([-*]|\d+\.)\s/.test(line)) {
			out.push(list(take((next, count) => count === 0 || /^([-*]|\d+\.)\s|^\s+\S/.test(next))));
		} else {
			out.push(h('p', {}, inline(take((next, count) => count === 0 || (next.trim() && !/^(#|\||```|[-*] )/.test(next))).join(' '))));
		}
	}
	return out;
}

/* ---- the view ---- */

export function docs(main, live, query, name) {
	const page = name || 'README.md';
	main.replaceChildren(h('p', {}, 'Loading'));

	async function load() {
		const answer = await fetch(`/docs/${encodeURIComponent(page)}`);
		if (!answer.ok)
			throw new Error(`There is no page ${page}.`);
		main.replaceChildren(
			h('p', { class: 'crumb' }, h('a', { href: '#/docs' }, 'Documentation'), page === 'README.md' ? '' : ` / ${page.replace(/\.md$/, '')}`),
			h('article', { class: 'card prose' }, markdown(await answer.text())));
		const at = new URLSearchParams(query).get('at');
		if (at)
			document.getElementById(at)?.scrollIntoView();
	}
	return { loaded: load(), leave() {} };
}
