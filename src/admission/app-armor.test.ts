import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Pod } from '../api/types.ts';
import { appArmorFault } from './app-armor.ts';

const podWith = (over: { annotations?: Record<string, string>; pod?: object; container?: object; phase?: 'Pending' | 'Running' }): Pod => ({
  metadata: { name: 'p', namespace: 'n', uid: 'u', ...(over.annotations ? { annotations: over.annotations } : {}) },
  spec: {
    ...(over.pod ? { securityContext: { appArmorProfile: over.pod } } : {}),
    containers: [{ name: 'c', image: 'i', ...(over.container ? { securityContext: { appArmorProfile: over.container } } : {}) }],
  } as Pod['spec'],
  ...(over.phase ? { status: { phase: over.phase } } : {}),
});
const annotation = (value: string) => ({ annotations: { 'container.apparmor.security.beta.kubernetes.io/c': value } });

it('a pod with an AppArmor profile is refused where there is no AppArmor', () => {
  for (const over of [
    annotation('runtime/default'),
    annotation('localhost/p'),
    { pod: { type: 'RuntimeDefault' } },
    { container: { type: 'Localhost', localhostProfile: 'p' } },
    { container: { type: 'RuntimeDefault' }, phase: 'Pending' as const },
  ]) {
    assert.deepEqual(appArmorFault(podWith(over), false), {
      reason: 'AppArmor',
      message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host',
    });
    assert.equal(appArmorFault(podWith(over), true), undefined);
  }
});

it('a pod without one, an unconfined one and one that runs already is not', () => {
  for (const over of [
    {},
    annotation('unconfined'),
    { pod: { type: 'Unconfined' } },
    { container: { type: 'Unconfined' } },
    { container: { type: 'RuntimeDefault' }, phase: 'Running' as const },
  ])
    assert.equal(appArmorFault(podWith(over), false), undefined);
});
