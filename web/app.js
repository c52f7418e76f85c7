/*
 * app.js - which view is shown, the stream of events, and sign-in.
 */
import { h, Refused } from './dom.js';
import { overview } from './overview.js';
import { incident, incidents } from './incident.js';
import { playground } from './playground.js';
import { registry } from './registry.js';
import './theme.js';

const main = document.getElementById('main');
const status = document.getElementById('live');
const views = { '': overview, incidents, incident, playground, registry };

/* ---- events as they happen ---- */

const live = {
	listeners: new Set(),
	source: null,
	start() {
		if (this.source)
			return;
		this.source = new EventSource('/api/v1/events');
		this.source.addEventListener('ready', () => this.say('live', 'live'));
		this.source.addEventListener('outcome', (message) => {
			const event = JSON.parse(message.data);
			for (const listener of this.listeners)
				listener(event);
		});
		this.source.addEventListener('error', () => this.say('reconnecting', 'down'));
	},
	stop() {
		if (this.source)
			this.source.close();
		this.source = null;
	},
	listen(listener) {
		this.listeners.add(listener);
		return () => this.listeners.delete(listener);
	},
	say(text, kind) {
		status.textContent = text;
		status.className = `live ${kind}`;
	},
};

/* ---- sign-in ---- */

function signIn(message) {
	const field = h('input', { type: 'password', name: 'token', autocomplete: 'current-password', required: true, 'aria-label': 'Token' });
	const note = h('p', { class: 'note', role: 'alert' }, message || '');
	const form = h('form', { class: 'card signin' }, h('h1', {}, 'Sign in'), h('p', {}, 'This server requires a bearer token.'), h('label', {}, 'Token ', field), h('button', {}, 'Sign in'), note);
	form.addEventListener('submit', async (event) => {
		event.preventDefault();
		const answer = await fetch('/ui/session', { method: 'POST', headers: { Authorization: `Bearer ${field.value}` } });
		field.value = '';
		if (answer.ok) {
			signOut.hidden = false;
			show();
			return;
		}
		note.textContent = answer.status === 401 ? 'The token is not valid.' : `The server answered ${answer.status}.`;
	});
	live.stop();
	live.say('signed out', 'down');
	main.replaceChildren(form);
	field.focus();
}

const signOut = document.getElementById('signout');

signOut.addEventListener('click', async () => {
	await fetch('/ui/session', { method: 'DELETE' });
	signOut.hidden = true;
	signIn('You are signed out.');
});

/* ---- views ---- */

let current = null;

function failed(error) {
	if (error instanceof Refused && error.status === 401) {
		signIn();
		return;
	}
	main.replaceChildren(h('section', { class: 'banner critical' }, h('strong', {}, 'This could not be shown'), h('span', {}, error.message)),
		h('p', {}, h('a', { href: '#/' }, 'Back to the overview')));
}

function show() {
	const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
	const [name, ...rest] = path.split('/');
	const view = views[name] || overview;

	if (current)
		current.leave();
	for (const link of document.querySelectorAll('nav a')) {
		const isCurrent = link.getAttribute('href') === `#/${name === 'incident' ? 'incidents' : name}`;
		if (isCurrent)
			link.setAttribute('aria-current', 'page');
		else
			link.removeAttribute('aria-current');
	}
	live.start();
	let argument = '';
	try {
		argument = decodeURIComponent(rest.join('/'));
	} catch { /* an address that is not valid names nothing */ }
	current = view(main, live, query || '', argument);
	current.loaded.catch(failed);
}

window.addEventListener('hashchange', () => { show(); window.scrollTo(0, 0); });
show();
