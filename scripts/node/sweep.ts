/** Cleans up after runs that were killed: `node scripts/node/sweep.ts`. */
import { cleanUpStaleRuns } from './cleanUpRun.ts';

for (const line of await cleanUpStaleRuns()) process.stdout.write(`${line}\n`);
