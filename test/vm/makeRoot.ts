/** `node makeRoot.ts FOLDER DISK`: makes the guest's disk in a process of its own, see rootImage.ts. */
import { makeRoot } from './rootImage.ts';

const [folder, disk] = process.argv.slice(2);
if (folder === undefined || disk === undefined) throw new Error('usage: makeRoot.ts FOLDER DISK');
await makeRoot(folder, disk);
