// The failure lab (test/lab/behaviours.mjs) through the gateway, servers over stdio: each row has
// one answer, of the right code, origin, delivery and retry class, and the next call works.

import { report } from '../lab/report.mjs';

await report('stdio');
