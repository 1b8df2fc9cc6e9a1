import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import type { LifecycleHandler } from '../api/types.ts';
import type { ExecSyncResult } from '../cri/types.ts';
import { Hooks } from './hooks.ts';

describe('lifecycle hooks', () => {
  let clock: SimClock;
  let calls: unknown[][];
  let answer: ExecSyncResult;
  let cut: number;
  const pod = { metadata: { name: 'p', namespace: 'n', uid: 'u' }, spec: { containers: [] } };
  const live = new AbortController().signal;
  const run = (hook: LifecycleHandler, signal = live) => {
    const execSync = async (...args: unknown[]) => {
      calls.push(args.slice(0, 3));
      return answer;
    };
    const metrics = { hookFellBack: () => undefined, sleepCut: () => void cut++ };
    return new Hooks({ runtime: { execSync }, clock, metrics }).run(
      hook,
      { pod, container: { name: 'c' }, containerId: 'id', podIps: [] },
      signal,
    );
  };
  beforeEach(() => {
    clock = new SimClock();
    calls = [];
    cut = 0;
    answer = { exitCode: 0, stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  });

  it('exec runs the command as it is, without a time-out; another code than 0 is a failure', async () => {
    await run({ exec: { command: ['sh', '-c', '$(A)'] } });
    assert.deepEqual(calls, [['id', ['sh', '-c', '$(A)'], 0]]);
    answer = { ...answer, exitCode: 3 };
    await assert.rejects(run({ exec: { command: ['x'] } }), /exited with 3/);
  });

  it('sleep waits its seconds, or until it is given up', async () => {
    let isOver = false;
    void run({ sleep: { seconds: 3 } }).then(() => {
      isOver = true;
    });
    await clock.advance(2_900);
    assert.equal(isOver, false);
    await clock.advance(200);
    assert.equal(isOver, true);
    const abort = new AbortController();
    const slept = run({ sleep: { seconds: 1000 } }, abort.signal);
    abort.abort(new Error('given up'));
    await assert.rejects(slept, /given up/);
    assert.equal(cut, 1);
  });

  it('tcpSocket is no hook, nor is nothing', async () => {
    await assert.rejects(run({ tcpSocket: { port: 1 } } as LifecycleHandler), /use exec, httpGet or sleep/);
    await assert.rejects(run({}), /use exec, httpGet or sleep/);
  });

  it('httpGet without a host needs the address of the pod', async () => {
    await assert.rejects(run({ httpGet: { port: 80 } }), /no address/);
  });
});
