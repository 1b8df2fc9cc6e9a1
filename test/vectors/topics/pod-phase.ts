import type { ContainerStatus, Pod } from '../../../src/api/types.ts';
import { podPhase } from '../../../src/status/phase.ts';
import { type Checker, expectSame } from '../checker.ts';

export const check: Checker = (c) =>
  expectSame(c, () => ({
    phase: podPhase(c.in['pod'] as Pod, (c.in['statuses'] ?? []) as ContainerStatus[], {
      podIsTerminal: c.in['podIsTerminal'] === true,
      podHasInitialized: c.in['podHasInitialized'] === true,
    }),
  }));
