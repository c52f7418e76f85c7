/*
 * theme.js - light, dark or as the system: the button, and what was chosen before. The
 * documentation uses it too.
 */
const themes = ['system', 'light', 'dark'];
const button = document.getElementById('theme');

function stored() {
	try {
		const theme = localStorage.getItem('theme');
		return themes.includes(theme) ? theme : 'system';
	} catch {
		return 'system';
	}
}

function set(theme) {
	if (theme === 'system')
		delete document.documentElement.dataset.theme;
	else
		document.documentElement.dataset.theme = theme;
	button.textContent = `Theme: ${theme}`;
	try {
		localStorage.setItem('theme', theme);
	} catch { /* not kept */ }
}

button.addEventListener('click', () => set(themes[(themes.indexOf(stored()) + 1) % themes.length]));
set(stored());
