import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { cacheDir, KUBERNETES_VERSION, makeOnce } from '../../cluster/goTools.ts';
import { buildPrograms } from './programs.ts';

const here = import.meta.dirname;

/** What decides the content of the images: the sources in this folder and the archive writer. */
function key(): string {
  const files = readdirSync(here)
    .filter((name) => !name.endsWith('.test.ts'))
    .sort()
    .map((name) => join(here, name));
  files.push(...['tar.ts', 'pause.c'].map((name) => resolve(here, '../../../../scripts/images', name)));
  const hash = createHash('sha256').update(process.arch);
  for (const file of files) hash.update(readFileSync(file));
  return hash.digest('hex').slice(0, 12);
}

/** The folder with the images of the suite, made in the cache when it lacks them. */
export async function suiteImageStore(log: (line: string) => void): Promise<string> {
  // Here and not only in the maker, so that the steps of long builds are told one by one.
  await buildPrograms(log);
  const path = join(cacheDir(), 'images', `${KUBERNETES_VERSION}-${key()}`);
  await makeOnce(path, [process.execPath, join(here, 'make.ts'), `${path}.new`], { title: 'making the images of the suite', log });
  return path;
}
