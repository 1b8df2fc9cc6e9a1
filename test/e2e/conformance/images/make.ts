/** `node make.ts FOLDER`: writes the image store. Run by `suiteImageStore`, which sees to it that it is done once. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { goModuleDir } from '../../cluster/goTools.ts';
import { ImageStore } from './imageStore.ts';
import { buildPrograms } from './programs.ts';
import { addSuiteImages, BUSYBOX_BY_DIGEST } from './suiteImages.ts';

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('which folder?');
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const programs = await buildPrograms((line) => process.stderr.write(`${line}\n`));
const store = new ImageStore(folder);
const byDigest = await addSuiteImages(store, programs, await goModuleDir('k8s.io/kubernetes'));
writeFileSync(join(folder, 'busybox-by-digest.tar'), store.archive(BUSYBOX_BY_DIGEST, byDigest));
store.close();
