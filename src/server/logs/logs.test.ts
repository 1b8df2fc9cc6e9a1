import assert from 'node:assert/strict';
import test from 'node:test';
import type { Pod } from '../../api/types.ts';
import type { Clock } from '../../host/clock.ts';
import type { LogFile } from '../../host/log-file.ts';
import { HttpError } from '../errors.ts';
import { logContainerId } from './log-container.ts';
import { LogFormatter } from './log-formatter.ts';
import { type LogOptions, logOptions, nanosecondsOf } from './log-options.ts';
import { readLog, tailStart } from './read-log.ts';

const plain: LogOptions = { follow: false, previous: false, timestamps: false, stream: 'All' };
const line = (text: string, stream = 'stdout', tag = 'F', time = '2026-01-02T03:04:05.123Z') => `${time} ${stream} ${tag} ${text}\n`;

function show(content: string, options: Partial<LogOptions> = {}, size = 1_000_000): string {
  const formatter = new LogFormatter({ ...plain, ...options });
  const bytes = Buffer.from(content);
  let out = '';
  for (let at = 0; at < bytes.length; at += size) out += formatter.feed(bytes.subarray(at, at + size)).toString();
  return out + formatter.end().toString();
}

test('lines of both streams, partial ones joined, junk left out, however the bytes are cut', () => {
  const content = `${line('one')}${line('tw', 'stderr', 'P')}${line('o', 'stderr')}junk\n${line('')}${line('three').slice(0, -1)}`;
  for (const size of [1, 2, 7, 1000]) assert.equal(show(content, {}, size), 'one\ntwo\n\nthree');
});

test('time stamps have nine digits, and stand at the begin of a line only', () => {
  const content = line('a', 'stdout', 'P') + line('b') + line('c', 'stdout', 'F', '2026-01-02T03:04:05+02:00');
  assert.equal(show(content, { timestamps: true }), '2026-01-02T03:04:05.123000000Z ab\n2026-01-02T03:04:05.000000000+02:00 c\n');
});

test('since, limit, stream', () => {
  const content = line('old', 'stdout', 'F', '2026-01-01T00:00:00.000000001Z') + line('err', 'stderr') + line('out');
  assert.equal(show(content, { since: nanosecondsOf('2026-01-01T00:00:00.000000001Z') ?? 0n }), 'old\nerr\nout\n');
  assert.equal(show(content, { since: nanosecondsOf('2026-01-01T00:00:00.000000002Z') ?? 0n }), 'err\nout\n');
  assert.equal(show(content, { limitBytes: 6 }), 'old\ner');
  assert.equal(show(content, { stream: 'Stderr' }), 'err\n');
  assert.equal(show(content, { stream: 'Stdout' }), 'old\nout\n');
});

test('docker json-file lines', () => {
  const json = (log: string, stream = 'stdout') => `${JSON.stringify({ log, stream, time: '2026-01-02T03:04:05.5Z' })}\n`;
  assert.equal(show(`${json('a\n')}${json('b')}${json('c\n')}{"log":1}\n{"no json\n`, {}, 5), 'a\nbc\n');
});

test('a line without end is passed on and not held', () => {
  const formatter = new LogFormatter(plain);
  const block = Buffer.alloc(256 << 10, 'x');
  let shown = formatter.feed(Buffer.from('2026-01-02T03:04:05Z stdout F ')).length;
  for (let i = 0; i < 40; i++) shown += formatter.feed(block).length;
  assert.ok(shown > 38 * block.length, `${shown} bytes`);
  const rest = formatter.feed(Buffer.from(`end\n${line('next')}`)).toString();
  assert.match(rest, /^x*end\nnext\n$/);
});

const query = (text: string, split = false) => logOptions(new URLSearchParams(text), Date.UTC(2026, 0, 2), split);
const status = (text: string, split = false) => {
  try {
    query(text, split);
    return 200;
  } catch (err) {
    assert.ok(err instanceof HttpError);
    return err.status;
  }
};

test('options: values and faults', () => {
  assert.deepEqual(query(''), plain);
  assert.deepEqual(query('follow=true&previous=1&timestamps=&tailLines=5&limitBytes=7'), {
    ...plain,
    follow: true,
    previous: true,
    timestamps: true,
    tailLines: 5,
    limitBytes: 7,
  });
  assert.equal(query('follow=false&previous=0').follow, false);
  assert.equal(query('tailLines=5&tail=all').tailLines, undefined);
  assert.equal(query('tailLines=5&tail=3').tailLines, 3);
  assert.equal(query('sinceSeconds=60').since, BigInt(Date.UTC(2026, 0, 1, 23, 59)) * 1_000_000n);
  for (const bad of ['tailLines=x', 'limitBytes=', 'sinceTime=yesterday', 'sinceSeconds=1.5']) assert.equal(status(bad), 400, bad);
  for (const bad of ['tailLines=-1', 'limitBytes=0', 'sinceSeconds=0', 'sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z', 'stream=x']) {
    assert.equal(status(bad), 422, bad);
  }
  assert.equal(status('stream=Stdout'), 400);
  assert.equal(status('stream=Stdout', true), 200);
  assert.equal(status('stream=Stdout&tailLines=1', true), 422);
});

/** A log in memory that can grow, be rotated and lose its container. */
class MemoryLog {
  readonly generations: Buffer[] = [Buffer.alloc(0)];
  running = true;
  opened = 0;
  changed: () => void = () => {};
  /** Called whenever a reader waits. */
  waiting: () => void = () => {};
  /** Called whenever a reader gives a replaced file time. */
  resting: () => void = () => {};

  get generation(): number {
    return this.generations.length - 1;
  }

  write(text: string): void {
    this.generations[this.generation] = Buffer.concat([this.generations[this.generation] ?? Buffer.alloc(0), Buffer.from(text)]);
  }

  rotate(): void {
    this.generations.push(Buffer.alloc(0));
  }

  open = async (): Promise<LogFile> => {
    this.opened += 1;
    const generation = this.generation;
    const content = () => this.generations[generation] ?? Buffer.alloc(0);
    return {
      read: async (position, length) => content().subarray(position, position + length),
      size: async () => content().length,
      replaced: async () => this.generation !== generation,
      close: async () => {
        this.opened -= 1;
      },
    };
  };

  clock(): Clock {
    return {
      now: () => 0,
      monotonic: () => 0,
      after: (_ms, fn) => {
        queueMicrotask(() => {
          this.waiting();
          fn();
        });
        return { cancel() {} };
      },
      sleep: async () => this.resting(),
    };
  }

  read(options: Partial<LogOptions>, signal = new AbortController().signal): AsyncGenerator<Buffer, void> {
    return readLog({
      options: { ...plain, ...options },
      open: this.open,
      isRunning: async () => this.running,
      watch: (changed) => {
        this.changed = changed;
        return { refresh: async () => {}, close() {} };
      },
      clock: this.clock(),
      signal,
    });
  }
}

async function text(blocks: AsyncIterable<Buffer>): Promise<string> {
  const all: Buffer[] = [];
  for await (const block of blocks) all.push(block);
  return Buffer.concat(all).toString();
}

test('tail: from where the last lines begin, over block borders', async () => {
  const log = new MemoryLog();
  for (let i = 0; i < 5_000; i++) log.write(line(`line ${i} ${'x'.repeat(40)}`));
  for (const n of [0, 1, 2, 999, 2_000, 5_000, 6_000]) {
    const shown = (await text(log.read({ tailLines: n }))).split('\n').slice(0, -1);
    assert.equal(shown.length, Math.min(n, 5_000), `tail ${n}`);
    if (n > 0) assert.match(shown[0] ?? '', new RegExp(`^line ${5_000 - Math.min(n, 5_000)} `));
  }
  assert.equal(await tailStart(await new MemoryLog().open(), 3), 0);
  assert.equal(log.opened, 0, 'every file is closed');
});

test('follow: goes on when the file grows and is rotated, ends when the container has ended and all is read', async () => {
  const log = new MemoryLog();
  log.write(line('one'));
  const steps = [
    () => log.write(line('two').slice(0, 20)),
    () => log.write(line('two').slice(20)),
    () => {
      log.write(line('three'));
      log.rotate();
      log.write(line('four'));
    },
    () => {
      log.write(line('five'));
      log.running = false;
    },
  ];
  log.waiting = () => steps.shift()?.();
  assert.equal(await text(log.read({ follow: true })), 'one\ntwo\nthree\nfour\nfive\n');
  assert.equal(steps.length, 0);
  assert.equal(log.opened, 0);
});

test('follow: what the old file gets after the new one came is not lost', async () => {
  const log = new MemoryLog();
  log.write(line('one'));
  const late = ['two', 'three'];
  log.waiting = () => {
    log.rotate();
    log.write(line('four'));
    log.waiting = () => {
      log.running = false;
    };
  };
  log.resting = () => {
    const text = late.shift();
    if (text !== undefined) log.generations[0] = Buffer.concat([log.generations[0] ?? Buffer.alloc(0), Buffer.from(line(text))]);
  };
  assert.equal(await text(log.read({ follow: true })), 'one\ntwo\nthree\nfour\n');
  assert.equal(log.opened, 0);
});

test('follow: what was written after the look at the container is not lost', async () => {
  const log = new MemoryLog();
  log.running = false;
  log.waiting = () => log.write(line('last words'));
  assert.match(await text(log.read({ follow: true })), /last words/);
});

test('follow ends when nobody listens any more', async () => {
  const log = new MemoryLog();
  const gone = new AbortController();
  log.waiting = () => gone.abort();
  assert.equal(await text(log.read({ follow: true }, gone.signal)), '');
  assert.equal(log.opened, 0);
});

test('100 MB of log go through in blocks', async () => {
  const block = Buffer.from(line('y'.repeat(969)).repeat(64));
  const total = 100_000_000;
  let read = 0;
  let largest = 0;
  let before = 0;
  let most = 0;
  const file: LogFile = {
    read: async (position, length) => {
      if (position >= total) return Buffer.alloc(0);
      const at = position % block.length;
      return block.subarray(at, Math.min(block.length, at + length));
    },
    size: async () => total,
    replaced: async () => false,
    close: async () => {},
  };
  const blocks = readLog({
    options: plain,
    open: async () => file,
    isRunning: async () => false,
    watch: () => ({ refresh: async () => {}, close() {} }),
    clock: new MemoryLog().clock(),
    signal: new AbortController().signal,
  });
  for await (const part of blocks) {
    read += part.length;
    largest = Math.max(largest, part.length);
    if (before === 0) before = process.memoryUsage().rss;
    most = Math.max(most, process.memoryUsage().rss - before);
  }
  assert.ok(read > 90_000_000, `${read} bytes shown`);
  assert.ok(largest <= 70_000, `a block of ${largest} bytes`);
  assert.ok(most < 80_000_000, `memory grew by ${most} bytes`);
});

test('which container is meant, and the texts when there is none', () => {
  const of = (status: object, previous = false) => {
    const pod = {
      metadata: { name: 'p', namespace: 'd', uid: 'u' },
      spec: { containers: [] },
      status: { containerStatuses: [{ name: 'c', ...status }] },
    };
    try {
      return logContainerId(pod as unknown as Pod, 'c', previous);
    } catch (err) {
      return (err as Error).message;
    }
  };
  const last = { terminated: { containerID: 'cri://last' } };
  assert.equal(of({ state: { running: {} }, containerID: 'cri://now' }), 'cri://now');
  assert.equal(of({ state: { terminated: { containerID: 'cri://done' } } }), 'cri://done');
  assert.equal(of({ state: { terminated: {} }, lastState: last }), 'cri://last');
  assert.equal(of({ state: { terminated: {} } }), 'container "c" in pod "p" is terminated');
  assert.equal(of({ state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: last }), 'cri://last');
  assert.equal(of({ state: { running: {} }, containerID: 'x', lastState: last }, true), 'cri://last');
  assert.equal(of({ state: { running: {} }, containerID: 'x' }, true), 'previous terminated container "c" in pod "p" not found');
  assert.equal(of({ state: { waiting: { reason: 'PodInitializing' } } }), 'container "c" in pod "p" is waiting to start: PodInitializing');
  assert.equal(
    of({ state: { waiting: { reason: 'ErrImagePull' } } }),
    'container "c" in pod "p" is waiting to start: image can\'t be pulled',
  );
  assert.equal(
    of({ state: { waiting: { reason: 'ImagePullBackOff' } } }),
    'container "c" in pod "p" is waiting to start: trying and failing to pull image',
  );
  assert.equal(of({ state: {} }), 'container "c" in pod "p" is waiting to start - no logs yet');
});
