import type { RuntimeRecord } from '../../src/api/restart.ts';

/** A runtime's container as the vectors write it. */
export interface RuntimeStatusVector {
  name: string;
  state: RuntimeRecord['state'];
  exitCode?: number;
}

export const runtimeRecords = (statuses: readonly RuntimeStatusVector[] | null | undefined): RuntimeRecord[] =>
  (statuses ?? []).map((s) => ({ name: s.name, state: s.state, status: { exitCode: s.exitCode ?? 0 } }));
