/**
 * `npm run build`: the sources and their dependencies as one minified module, `dist/kubelet-ts.mjs`, with its source map.
 * What is imported lazily becomes a chunk of its own beside it, a worker (`new URL('./x.ts', import.meta.url)`) becomes
 * `x.mjs`, and the protocols are inlined. dist needs nothing else to run.
 */
import { globSync } from 'node:fs';
import { mkdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build, type Plugin } from 'esbuild';

const project = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const dist = join(project, 'dist');
/** Built beside and swapped in at the end, so that an agent that starts meanwhile finds a whole one. */
const fresh = join(project, 'dist.new');
const WORKER = /new URL\(\s*'(\.{1,2}\/[^']+)\.ts',\s*import\.meta\.url\s*\)/g;

const began = performance.now();
await rm(fresh, { recursive: true, force: true });
await mkdir(fresh, { recursive: true });
const workers = await workerSources();
const result = await build({
  entryPoints: [
    { in: join(project, 'src/main.ts'), out: 'kubelet-ts' },
    ...workers.map((path) => ({ in: path, out: basename(path, '.ts') })),
  ],
  outdir: fresh,
  outExtension: { '.js': '.mjs' },
  // All in one folder, so that a worker lies beside whatever chunk names it.
  chunkNames: '[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  minify: true,
  // Error and class names appear in logs.
  keepNames: true,
  sourcemap: 'linked',
  legalComments: 'linked',
  metafile: true,
  logLevel: 'warning',
  define: { KTS_PROTOCOLS: JSON.stringify(await protocols()) },
  // CommonJS packages ask for these; ESM has none.
  banner: {
    js: "import{createRequire as __ktsRequire}from'node:module';const require=__ktsRequire(import.meta.url),__filename=import.meta.filename,__dirname=import.meta.dirname;",
  },
  plugins: [workerUrls()],
});
await rm(dist, { recursive: true, force: true });
await rename(fresh, dist);

for (const [path, out] of Object.entries(result.metafile.outputs).sort((a, b) => b[1].bytes - a[1].bytes)) {
  if (!path.endsWith('.mjs')) continue;
  const file = join(dist, relative(fresh, resolve(path)));
  const kib = (n: number) => `${(n / 1024).toFixed(0)} KiB`.padStart(9);
  const from = out.entryPoint ?? largestInputs(out.inputs);
  process.stdout.write(
    `${kib((await stat(file)).size)}  ${kib(gzipSync(await readFile(file)).length)} gzip  ${relative(project, file)}  (${from})\n`,
  );
}
process.stdout.write(`built in ${((performance.now() - began) / 1000).toFixed(1)} s\n`);

function largestInputs(inputs: Record<string, { bytesInOutput: number }>): string {
  const packages = new Map<string, number>();
  for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
    const name = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? path;
    packages.set(name, (packages.get(name) ?? 0) + bytesInOutput);
  }
  return [...packages]
    .sort((a, b) => b[1] - a[1])
    .slice(0, 3)
    .map(([name]) => name)
    .join(', ');
}

/** Sources that others start as workers. */
async function workerSources(): Promise<string[]> {
  const found = new Set<string>();
  for (const path of globSync('src/**/*.ts', { cwd: project })) {
    if (path.endsWith('.test.ts')) continue;
    const text = await readFile(join(project, path), 'utf8');
    for (const match of text.matchAll(WORKER)) found.add(resolve(project, dirname(path), `${match[1]}.ts`));
  }
  return [...found].sort();
}

function workerUrls(): Plugin {
  return {
    name: 'worker-urls',
    setup(b) {
      b.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
        const text = await readFile(path, 'utf8');
        return { loader: 'ts', contents: text.replace(WORKER, (_, name: string) => `new URL('./${basename(name)}.mjs', import.meta.url)`) };
      });
    },
  };
}

/** Every .proto file in protobufjs' JSON form, by its path below proto/ without extension: as `src/proto/load.ts` wants them. */
async function protocols(): Promise<Record<string, object>> {
  // protobufjs is the loader's dependency, not ours: it is found from there.
  const require = createRequire(createRequire(import.meta.url).resolve('@grpc/proto-loader'));
  const protobuf = require('protobufjs') as { parse(text: string, options: { keepCase: boolean }): { root: { toJSON(): object } } };
  const all: Record<string, object> = {};
  for (const path of globSync('proto/**/*.proto', { cwd: project }).sort()) {
    const text = await readFile(join(project, path), 'utf8');
    all[path.slice('proto/'.length, -'.proto'.length)] = protobuf.parse(text, { keepCase: false }).root.toJSON();
  }
  return all;
}
