import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Agent } from '../node/startAgent.ts';
import { type ExpectedPod, expectedPods } from './expectedPods.ts';
import { describeRow, manifestError, type PodRow, podRows, renderTable } from './podTable.ts';

export interface WatchOptions {
  agent: Agent;
  output: NodeJS.WriteStream;
  manifests: string;
  signal: AbortSignal;
  /** Return as soon as all are ready; otherwise go on until the signal. */
  once: boolean;
  timeoutMs: number;
}

export interface WatchResult {
  wanted: number;
  ready: number;
  /** Seconds from the start of the agent until all were ready; undefined when they never were. */
  seconds: number | undefined;
  /** For each pod that is not ready: its name and why. */
  faults: string[];
}

/** Shows the pods until all are ready (`once`), the time is up, the agent ends or the signal aborts. */
export async function watchPods(o: WatchOptions): Promise<WatchResult> {
  const shown = new Map<string, string>();
  const table = o.output.isTTY && !o.once;
  let drawn = 0;
  let seconds: number | undefined;
  for (;;) {
    const [list, expected] = await Promise.all([o.agent.pods(), expectedPods(o.manifests)]);
    const rows = list === undefined ? [] : podRows(list, Date.now());
    const elapsed = (performance.now() - o.agent.startedAt) / 1000;
    const faults = await findFaults(expected, rows, o.agent);
    if (table) {
      const refused = (await refusals(expected, rows, o.agent)).map((text) => `✗ ${text}`.slice(0, o.output.columns));
      const lines = [...renderTable(rows, o.output.columns), ...refused];
      // The ^C that the terminal shows moves the cursor.
      o.output.write(`${drawn > 0 ? `\r\x1b[${drawn}A` : ''}${lines.map((l) => `\x1b[K${l}\n`).join('')}\x1b[J`);
      drawn = lines.length;
    } else {
      for (const row of rows) {
        const text = describeRow(row);
        if (shown.get(row.name) === text) continue;
        shown.set(row.name, text);
        o.output.write(`${elapsed.toFixed(1).padStart(6)} s  ${text}\n`);
      }
    }
    if (faults.length === 0 && expected.length > 0) seconds ??= elapsed;
    const ended = o.agent.ended();
    const done = (o.once && (seconds !== undefined || elapsed * 1000 > o.timeoutMs)) || o.signal.aborted || ended !== undefined;
    if (done) {
      const ready = expected.length - faults.length;
      if (ended !== undefined) faults.unshift(`the agent ended (${ended}):\n${await lastLines(o.agent)}`);
      return { wanted: expected.length, ready, seconds, faults };
    }
    await sleep(table ? 500 : 50, undefined, { signal: o.signal }).catch(() => {});
  }
}

/** Expected pods that are not ready, each with the reason as far as the agent tells it. */
async function findFaults(expected: readonly ExpectedPod[], rows: readonly PodRow[], agent: Agent): Promise<string[]> {
  const faults: string[] = [];
  for (const pod of expected) {
    const { file, name } = pod;
    const row = rowOf(pod, rows);
    if (row?.ready || (row?.phase === 'Succeeded' && name !== undefined)) continue;
    faults.push(row === undefined ? `${file}: ${(await refusal(agent, file)) ?? 'no such pod yet'}` : describeRow(row));
  }
  return faults;
}

function rowOf({ name }: ExpectedPod, rows: readonly PodRow[]): PodRow | undefined {
  const node = hostname().trim().toLowerCase();
  return rows.find((r) => r.name === `${name}-${node}`);
}

/** Why the agent did not take manifests that no pod stands for, one line each: file:line:column, field and rule. */
async function refusals(expected: readonly ExpectedPod[], rows: readonly PodRow[], agent: Agent): Promise<string[]> {
  const found: string[] = [];
  for (const pod of expected) {
    if (rowOf(pod, rows) !== undefined) continue;
    const text = await refusal(agent, pod.file);
    if (text !== undefined) found.push(manifestError(text, agent.manifests));
  }
  return found;
}

/** The end of the log: the file itself goes with the run. */
async function lastLines(agent: Agent): Promise<string> {
  const lines = (await agent.log().catch(() => '')).trimEnd().split('\n');
  return lines
    .slice(-8)
    .map((l) => `      ${l}`)
    .join('\n');
}

/** What the agent logged about a manifest that it did not take. */
async function refusal(agent: Agent, file: string): Promise<string | undefined> {
  const lines = (await agent.log().catch(() => '')).split('\n');
  return lines.findLast((l) => /^[WE][0-9]{4}/.test(l) && l.includes(file));
}
