import { type RuntimeRecord, restartsAfterExit, shouldRestart } from '../../../src/api/restart.ts';
import type { Container, Pod, RestartPolicy } from '../../../src/api/types.ts';
import { type Checker, expectSame } from '../checker.ts';
import { type RuntimeStatusVector, runtimeRecords } from '../runtime-records.ts';

export const check: Checker = (c) =>
  expectSame(c, () => {
    const container = c.in['container'] as Container;
    const podPolicy = c.in['podPolicy'] as RestartPolicy | '';
    const pod: Pod = {
      metadata: { name: 'p', namespace: 'n', uid: 'u' },
      spec: { containers: [container], ...(podPolicy === '' ? {} : { restartPolicy: podPolicy }) },
    };
    const records: RuntimeRecord[] = runtimeRecords(c.in['statuses'] as RuntimeStatusVector[] | null);
    const newest = records.find((r) => r.name === container.name);
    return {
      restart: shouldRestart(pod, container, records, c.in['deleting'] === true),
      ...(newest?.state === 'exited' ? { byRules: restartsAfterExit(container, pod.spec, newest.status.exitCode) } : {}),
    };
  });
