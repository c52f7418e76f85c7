// The failure lab (test/lab/behaviours.mjs) through the gateway, servers over HTTP; see gate_lab.mjs.

import { report } from '../lab/report.mjs';

await report('http');
