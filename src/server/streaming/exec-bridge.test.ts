import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import test from 'node:test';
import type { Clock } from '../../host/clock.ts';
import { bridgeExec, type ExecStreams } from './exec-bridge.ts';
import { dataHead, type SpdyFrame, SpdyReader } from './spdy-frames.ts';
import type { Upgraded } from './upstream.ts';
import { clientFrame, opcodes, type WebSocketPiece, WebSocketReader } from './websocket-frames.ts';

/** One end of a connection: what the bridge writes is kept, `send` is what it reads. */
class Wire extends Duplex {
  readonly written: Buffer[] = [];
  /** While set, writes are not taken. */
  blocked: (() => void) | undefined;
  hold = false;
  constructor() {
    super({ allowHalfOpen: true, highWaterMark: 1024 });
  }
  override _read(): void {}
  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.written.push(chunk);
    if (this.hold) this.blocked = done;
    else done();
  }
  override _final(done: () => void): void {
    done();
    this.push(null);
  }
  send(data: Buffer): void {
    this.push(data);
  }
}

/** Time that stands still, and counts its timers. */
function stillClock(): Clock & { timers: Set<() => void> } {
  const timers = new Set<() => void>();
  return {
    timers,
    now: () => 0,
    monotonic: () => 0,
    after(_ms, fn) {
      timers.add(fn);
      return { cancel: () => timers.delete(fn) };
    },
    sleep: () => new Promise(() => {}),
  };
}

const all: ExecStreams = { stdin: true, stdout: true, stderr: true, tty: false };

function begin(streams: ExecStreams, idleTimeoutMs = 0) {
  const [client, runtime, clock] = [new Wire(), new Wire(), stillClock()];
  const upstream = { socket: runtime, head: Buffer.alloc(0) } as unknown as Upgraded;
  const ended = bridgeExec(client, Buffer.alloc(0), upstream, streams, { clock, idleTimeoutMs });
  const toRuntime = (): SpdyFrame[] => [...new SpdyReader().read(Buffer.concat(runtime.written))];
  const toClient = (): WebSocketPiece[] => [...new WebSocketReader('server').read(Buffer.concat(client.written))];
  return { client, runtime, clock, ended, toRuntime, toClient };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
const message = (...bytes: (number | string)[]) =>
  clientFrame(opcodes.binary, Buffer.concat(bytes.map((b) => (typeof b === 'number' ? Buffer.from([b]) : Buffer.from(b)))));
const data = (id: number, text: string, fin = false) => Buffer.concat([dataHead(id, text.length, fin), Buffer.from(text)]);
const messages = (from: WebSocketPiece[]) =>
  from.flatMap((p) => (p.type === 'message' ? [`${p.data[0]}:${p.data.subarray(1)}`] : [p.type]));

test('streams are opened in the order of the real client; a terminal has no stderr and a resize stream', () => {
  const ids = (streams: ExecStreams) =>
    begin(streams)
      .toRuntime()
      .map((f) => f.type === 'synStream' && f.streamId);
  assert.deepEqual(ids(all), [1, 3, 5, 7]);
  assert.deepEqual(ids({ stdin: false, stdout: true, stderr: false, tty: false }), [1, 3]);
  assert.deepEqual(ids({ stdin: true, stdout: true, stderr: true, tty: true }), [1, 3, 5, 7]);
});

test('input, its end, output, result: all arrive, then both connections close', async () => {
  const { client, runtime, ended, toRuntime, toClient } = begin(all);
  client.send(Buffer.concat([message(0, 'in'), message(255, 0), message(0, 'late'), message(9, 'unknown')]));
  await turn();
  const [, , , , input, end, ...more] = toRuntime();
  assert.deepEqual(input, { type: 'data', streamId: 3, fin: false, data: Buffer.from('in') });
  assert.deepEqual(end, { type: 'data', streamId: 3, fin: true, data: Buffer.alloc(0) });
  assert.deepEqual(more, [], 'nothing after the end of input');
  runtime.send(Buffer.concat([data(5, 'out'), data(7, 'err'), data(5, '', true), data(1, '{"status":"Success"}', true)]));
  await turn();
  assert.deepEqual(messages(toClient()), ['1:', '1:out', '2:err', '3:{"status":"Success"}'], 'stderr may still come');
  runtime.send(data(7, 'more', true));
  await turn();
  assert.deepEqual(messages(toClient()).slice(4), ['2:more', 'close']);
  await ended;
});

test('a runtime that goes, or breaks the protocol, is told as a failure', async () => {
  for (const harm of ['end', 'garbage'] as const) {
    const { runtime, ended, toClient } = begin(all);
    if (harm === 'end') runtime.push(null);
    else runtime.send(Buffer.from('8002000100000000', 'hex'));
    await ended;
    const [, status] = messages(toClient());
    assert.match(status ?? '', /^3:.*"status":"Failure".*"reason":"InternalError"/);
  }
});

test('a client that closes or breaks the protocol ends the session', async () => {
  for (const bytes of [clientFrame(opcodes.close, Buffer.from([3, 232])), Buffer.from([0x82, 1, 65])]) {
    const { client, ended, toClient, runtime } = begin(all);
    client.send(bytes);
    await ended;
    assert.deepEqual(messages(toClient()), ['1:', 'close']);
    assert.equal(runtime.destroyed, true);
  }
});

test('a client that does not read holds up the runtime, and no memory fills', async () => {
  const { client, runtime } = begin(all);
  client.hold = true;
  runtime.send(data(5, 'x'.repeat(4_000)));
  await turn();
  assert.equal(runtime.isPaused(), true);
  client.hold = false;
  client.blocked?.();
  await turn();
  assert.equal(runtime.isPaused(), false);
});

test('silence for longer than the idle time ends the session', async () => {
  const { clock, ended, client } = begin(all, 60_000);
  assert.equal(clock.timers.size, 1);
  clock.monotonic = () => 60_001;
  for (const fire of [...clock.timers]) fire();
  await ended;
  assert.equal(client.destroyed, true);
});
