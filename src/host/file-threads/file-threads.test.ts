import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Clock } from '../clock.ts';
import { systemClock } from '../clock.ts';
import { type Answer, type FileThread, FileThreadError, FileThreads } from './file-threads.ts';

/** Threads that answer when the test says so, and a clock that it moves. */
function world() {
  const timers = new Set<{ ms: number; fn: () => void }>();
  const clock: Clock = {
    ...systemClock,
    after: (ms, fn) => {
      const timer = { ms, fn };
      timers.add(timer);
      return { cancel: () => void timers.delete(timer) };
    },
  };
  const threads: { asked: string[]; ended: boolean; reply(answer: Answer): void }[] = [];
  const start = (): FileThread => {
    let pending = Promise.withResolvers<Answer>();
    const own = { asked: [] as string[], ended: false, reply: (answer: Answer) => pending.resolve(answer) };
    threads.push(own);
    return {
      post: ({ args }) => void own.asked.push(String(args[0])),
      answer: () => {
        pending = Promise.withResolvers<Answer>();
        return pending.promise;
      },
      end: () => {
        own.ended = true;
      },
    };
  };
  const pass = (ms: number) => {
    for (const timer of [...timers]) {
      if (timer.ms > ms) continue;
      timers.delete(timer);
      timer.fn();
    }
  };
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return { files: new FileThreads(clock, start), threads, pass, settle };
}

describe('FileThreads', () => {
  it('uses one thread again, and ends it when nobody asks', async () => {
    const { files, threads, pass } = world();
    for (const path of ['/a', '/b']) {
      const asked = files.run('kind', [path], 1000);
      threads[0]?.reply({ ok: true, value: 'file' });
      assert.equal(await asked, 'file');
    }
    assert.deepEqual(threads[0]?.asked, ['/a', '/b']);
    pass(10_000);
    assert.deepEqual([threads.length, threads[0]?.ended], [1, true]);
  });

  it('leaves a thread behind that does not come back, and goes on with another', async () => {
    const { files, threads, pass, settle } = world();
    const hung = files.run('space', ['/hung'], 1000);
    pass(6000);
    await assert.rejects(hung, (err) => err instanceof FileThreadError && err.code === 'timeout' && /within 6 s/.test(err.message));
    assert.deepEqual([files.stuck, threads[0]?.ended], [1, false]);
    await assert.rejects(files.run('kind', ['/hung'], 1000), /has not answered when it was last asked/);
    const other = files.run('kind', ['/well'], 1000);
    threads[1]?.reply({ ok: true, value: undefined });
    assert.equal(await other, undefined);
    threads[0]?.reply({ ok: true, value: undefined });
    await settle();
    assert.deepEqual([files.stuck, threads[0]?.ended], [0, true]);
  });

  it('lets no more than four work, and the others wait', async () => {
    const { files, threads, settle } = world();
    const all = ['1', '2', '3', '4', '5', '6'].map((path) => files.run('kind', [path], 1000));
    await settle();
    assert.equal(threads.length, 4);
    threads[2]?.reply({ ok: true, value: 'file' });
    await settle();
    assert.deepEqual(threads[2]?.asked, ['3', '5']);
    for (let i = 0; i < 3; i++) {
      for (const thread of threads) thread.reply({ ok: true, value: 'file' });
      await settle();
    }
    assert.deepEqual(await Promise.all(all), Array(6).fill('file'));
  });

  it('lets the next one begin when one is slow', async () => {
    const { files, threads, pass, settle } = world();
    const all = ['1', '2', '3', '4', '5'].map((path) => files.run('usage', [path, 60_000], 60_000));
    await settle();
    assert.equal(threads.length, 4);
    pass(1000);
    await settle();
    assert.deepEqual(threads[4]?.asked, ['5']);
    for (const thread of threads) thread.reply({ ok: true, value: undefined });
    await Promise.all(all);
  });

  it('gives the error of the system with its code', async () => {
    const { files, threads } = world();
    const asked = files.run('kind', ['/a'], 1000);
    threads[0]?.reply({ ok: false, message: 'EIO: i/o error', code: 'EIO' });
    await assert.rejects(asked, { message: 'EIO: i/o error', code: 'EIO' });
  });

  it('works with a real thread', async () => {
    const files = new FileThreads(systemClock);
    assert.equal(await files.run('kind', ['/dev/null'], 1000), 'character');
    assert.equal(await files.run('kind', ['/none'], 1000), undefined);
    const usage = await files.run('usage', [import.meta.dirname, 1000], 1000);
    assert.ok(usage !== undefined && usage.bytes > 0 && usage.inodes > 3 && !usage.isPartial);
    const space = await files.run('space', ['/'], 1000);
    assert.ok(space !== undefined && space.capacity >= space.used);
    await assert.rejects(files.run('kind', ['\0'], 1000), { code: 'ERR_INVALID_ARG_VALUE' });
  });
});
