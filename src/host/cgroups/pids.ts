import type { CgroupSettings, CgroupVersion, CgroupWrite } from './settings.ts';

const Controller = 'pids';
const Max = 'pids.max';

/** The limit on tasks; the file is the same in both versions. */
export function pidsWrites(_version: CgroupVersion, { pids }: CgroupSettings): CgroupWrite[] {
  if (pids === undefined) return [];
  return [{ controller: Controller, file: Max, value: pids < 0 ? 'max' : String(pids) }];
}
