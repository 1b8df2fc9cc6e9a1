/**
 * `npm run test:vm`: the agent as a systemd service on a real kernel with cgroup v2, in an emulated machine: Debian, systemd
 * as PID 1, containerd with its systemd driver. Prints one line a check; the last complete run is kept in docs/test-vm.md.
 * `-- groups | service | pressure` runs only those parts.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { mustRun } from '../../scripts/node/run.ts';
import { endSignal } from '../../scripts/start/endSignal.ts';
import { makePayload } from './payload.ts';
import { boot } from './qemu.ts';
import { rootImage } from './rootImage.ts';

const PARTS = ['groups', 'service', 'pressure'];
const TIMEOUT_MS = 20 * 60_000;
const project = resolve(import.meta.dirname, '../..');
const line = (text: string) => void process.stdout.write(`${text}\n`);
const began = performance.now();
const seconds = () => `${Math.round((performance.now() - began) / 1000)} s`;

const only = process.argv.slice(2);
if (only.some((part) => !PARTS.includes(part))) {
  process.stderr.write(`usage: npm run test:vm [-- ${PARTS.join(' | ')}]\n`);
  process.exit(2);
}
process.exitCode = await main();

async function main(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'kubelet-ts-vm-'));
  const signal = endSignal();
  const results: { ok: boolean; name: string; detail: string }[] = [];
  const notes: string[] = [];
  let complete = false;
  const tick = setInterval(() => line(`  … ${seconds()}`), 30_000);
  try {
    const root = await rootImage(line);
    const payload = await makePayload(folder, only, line);
    line('▶ booting the virtual machine');
    const console = await boot({
      ...{ root, payload, folder, signal, memoryMiB: 3072, cpus: 2, timeoutMs: TIMEOUT_MS },
      line: (text) => {
        const result = /^(ok|not ok) - ([^#]*)(?:# (.*))?$/.exec(text);
        if (result !== null) {
          const [, state, name = '', detail = ''] = result;
          results.push({ ok: state === 'ok', name: name.trim(), detail });
          line(`  ${state === 'ok' ? '✓' : '✗'} ${name.trim()}${detail === '' ? '' : `: ${detail}`}`);
        } else if (text === 'complete') complete = true;
        else if (text !== '') {
          if (text.startsWith('note: ')) notes.push(text.slice(6));
          line(`  ${text}`);
        }
      },
    });
    if (!complete) {
      line('✗ the checks did not come to their end; the console said last:');
      for (const text of console) line(`    ${text}`);
    }
  } catch (error) {
    line(`✗ ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    clearInterval(tick);
    await rm(folder, { recursive: true, force: true });
  }
  const failed = results.filter((r) => !r.ok).length;
  const passed = results.length - failed;
  line(`${passed} passed, ${failed} failed${complete ? '' : ', not complete'} (${seconds()})`);
  if (complete && only.length === 0) await keep(results, notes, `${passed} passed, ${failed} failed`);
  return complete && failed === 0 && passed > 0 ? 0 : 1;
}

/** Writes what the run said where people look for it. */
async function keep(
  results: readonly { ok: boolean; name: string; detail: string }[],
  notes: readonly string[],
  sum: string,
): Promise<void> {
  const commit = (await mustRun('git', ['-C', project, 'describe', '--always', '--dirty']).catch(() => 'unknown')).trim();
  const rows = results.map(({ ok, name, detail }) => `| ${name} | ${ok ? 'ok' : '**failed**'} | ${detail.replaceAll('|', '\\|')} |`);
  const text = `# On cgroup v2 with systemd

The last complete run of \`npm run test:vm\`, written by the command itself: the agent as a systemd service with the systemd driver in an emulated
machine. ${new Date().toISOString().slice(0, 10)}, ${commit}: ${sum}, ${seconds()}.

${notes.map((note) => `- ${note}`).join('\n')}

| check | result | what was seen |
| --- | --- | --- |
${rows.join('\n')}
`;
  await writeFile(join(project, 'docs/test-vm.md'), text);
  line('written: docs/test-vm.md');
}
