import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import { SimFiles } from '../../test/sim/files.ts';
import { CriError } from '../cri/errors.ts';
import type { Container, ContainerStatus } from '../cri/types.ts';
import { silentLogger } from '../observe/log.ts';
import { planRotation, rotatedName } from './log-files.ts';
import { LogRotation, type LogRotationPolicy } from './log-rotation.ts';

const dir = '/var/log/pods/n_p_u/c';
const logPath = `${dir}/0.log`;

describe('which old logs stay', () => {
  const at = (n: number) => `0.log.20260101-00000${n}`;
  it('keeps two less than the maximum, the newest, and compresses what is not', () => {
    const old = [at(3), `${at(1)}.gz`, `${at(2)}.gz`, `${at(0)}.gz`];
    assert.deepEqual(planRotation(old, 5), { remove: [`${at(0)}.gz`], compress: [at(3)] });
    assert.deepEqual(planRotation(old, 2), { remove: [`${at(0)}.gz`, `${at(1)}.gz`, `${at(2)}.gz`, at(3)], compress: [] });
  });
  it('clears what a rotation that failed left', () => {
    const old = [`${at(1)}.tmp`, at(1), at(2), `${at(2)}.gz`, `${at(3)}.gz.tmp`];
    assert.deepEqual(planRotation(old, 5), { remove: [`${at(1)}.tmp`, at(2), `${at(3)}.gz.tmp`], compress: [at(1)] });
  });
  it('has nothing to do for a first rotation', () => assert.deepEqual(planRotation([], 5), { remove: [], compress: [] }));
  it('names by the time of the node', () => assert.match(rotatedName('/x/0.log', 0), /^\/x\/0\.log\.[0-9]{8}-[0-9]{6}$/));
});

describe('log rotation', () => {
  let clock: SimClock;
  let files: SimFiles;
  let reopened: string[];
  let refuse: boolean;
  let paths: Map<string, string>;
  const errors: unknown[] = [];
  const signal = new AbortController().signal;

  beforeEach(async () => {
    clock = new SimClock();
    files = new SimFiles(clock);
    reopened = [];
    refuse = false;
    errors.length = 0;
    paths = new Map([['1', logPath]]);
    await files.mkdir(dir, 0o755);
  });

  function rotation(over: Partial<LogRotationPolicy> = {}, gzip?: (from: string, to: string, mode: number) => Promise<void>) {
    return new LogRotation({
      runtime: {
        listContainers: async () => [...paths.keys()].map((id) => ({ id }) as Container),
        containerStatus: async (id) => ({ id, logPath: paths.get(id) }) as ContainerStatus,
        reopenContainerLog: async (id) => {
          if (refuse) throw new CriError('Internal', 'ReopenContainerLog', 'refused');
          reopened.push(id);
          await files.write(paths.get(id) ?? '', '', 0o640);
        },
      },
      files,
      gzip: gzip ?? (async (from, to, mode) => files.write(to, `gz(${await files.read(from)})`, mode)),
      clock,
      log: { ...silentLogger, error: (err) => void errors.push(err) },
      policy: { intervalMs: 10_000, maxSize: 100, maxFiles: 3, workers: 1, ...over },
      podLogsDir: '/var/log/pods',
    });
  }
  const names = async () => (await files.list(dir)).map((e) => e.name);
  const fill = (path = logPath, text = 'x'.repeat(100)) => files.write(path, text, 0o640);

  it('leaves a small log alone, and rotates one of the size', async () => {
    await fill(logPath, 'x'.repeat(99));
    await rotation().rotateAll(signal);
    assert.deepEqual(await names(), ['0.log']);
    await fill();
    await rotation().rotateAll(signal);
    const [live, old] = await names();
    assert.deepEqual([live, old?.length], ['0.log', '0.log.20260101-000000'.length]);
    assert.equal((await files.read(`${dir}/${old}`)).length, 100);
    assert.deepEqual(reopened, ['1']);
  });

  it('over many rotations keeps the maximum of files, the older ones compressed, with the mode of the log', async () => {
    for (let i = 0; i < 5; i++) {
      await fill(logPath, `${i}`.repeat(100));
      await rotation().rotateAll(signal);
      await clock.advance(1000);
    }
    const all = await names();
    assert.equal(all.length, 3);
    assert.match(all[1] ?? '', /\.gz$/);
    assert.match((await files.read(`${dir}/${all[1]}`)).toString(), /^gz\(3+\)$/);
    assert.match((await files.read(`${dir}/${all[2]}`)).toString(), /^4+$/);
    assert.equal((await files.stat(`${dir}/${all[1]}`))?.mode, 0o640);
  });

  it('puts the log back when the runtime does not reopen it, and tries again', async () => {
    await fill();
    refuse = true;
    await rotation().rotateAll(signal);
    assert.deepEqual(await names(), ['0.log']);
    assert.equal((await files.read(logPath)).length, 100);
    assert.equal(errors.length, 1);
    refuse = false;
    await rotation().rotateAll(signal);
    assert.equal((await names()).length, 2);
  });

  it('a compression that fails leaves no temporary file and rotates nothing', async () => {
    await fill();
    await files.write(`${dir}/0.log.20250101-000000`, 'old', 0o640);
    const full = async (_from: string, to: string, mode: number) => {
      await files.write(to, 'half', mode);
      throw new Error('ENOSPC');
    };
    await rotation({}, full).rotateAll(signal);
    assert.deepEqual(await names(), ['0.log', '0.log.20250101-000000']);
    assert.equal(errors.length, 1);
  });

  it('asks for a log that is missing to be opened again', async () => {
    await rotation().rotateAll(signal);
    assert.deepEqual([reopened, await names()], [['1'], ['0.log']]);
  });

  it('does not touch a log elsewhere, nor that of another container beside it', async () => {
    await files.mkdir('/etc', 0o755);
    paths.set('2', '/var/log/pods/../../../etc/x.log');
    await fill('/etc/x.log');
    await fill(`${dir}/0.logger`);
    await fill();
    await rotation().rotateAll(signal);
    assert.deepEqual(
      (await files.list('/etc')).map((e) => e.name),
      ['x.log'],
    );
    assert.equal((await names()).includes('0.logger'), true);
    assert.deepEqual(reopened, ['1']);
  });

  it('works on as many logs side by side as it may', async () => {
    let now = 0;
    let most = 0;
    for (let i = 2; i <= 6; i++) {
      paths.set(String(i), `${dir}/${i}.log`);
      await fill(`${dir}/${i}.log`);
      await files.write(`${dir}/${i}.log.20250101-000000`, 'old', 0o640);
    }
    const slow = async (_from: string, to: string, mode: number) => {
      now += 1;
      most = Math.max(most, now);
      await clock.sleep(1000);
      now -= 1;
      await files.write(to, 'gz', mode);
    };
    const done = rotation({ workers: 2 }, slow).rotateAll(signal);
    await clock.advance(10_000);
    await done;
    assert.deepEqual([most, reopened.length], [2, 6]);
  });

  it('runs every interval, and not at all with a negative size', async () => {
    const stop = new AbortController();
    const service = rotation();
    service.start(stop.signal);
    await clock.advance(1);
    assert.deepEqual(reopened, ['1']);
    await fill();
    await clock.advance(9_000);
    assert.equal(reopened.length, 1);
    await clock.advance(1_000);
    assert.equal(reopened.length, 2);
    stop.abort();
    await service.stop();
    const never = rotation({ maxSize: -1 });
    await fill();
    never.start(signal);
    await clock.advance(60_000);
    assert.equal(reopened.length, 2);
  });
});
