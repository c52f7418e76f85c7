// mulberry32, a small seeded generator: returns a function that returns 32 random bits.
export function generator(seed) {
	let state = seed >>> 0;
	return () => {
		state = (state + 0x6d2b79f5) >>> 0;
		let t = state;
		t = Math.imul(t ^ (t >>> 15), t | 1);
		t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
		return (t ^ (t >>> 14)) >>> 0;
	};
}

// A function that returns a random integer below its argument.
export function random(seed) {
	const next = generator(seed);
	return (below) => Math.floor((next() / 4294967296) * below);
}
