import type { CgroupSettings, CgroupVersion, CgroupWrite } from './settings.ts';

const Controller = 'memory';
const V1Limit = 'memory.limit_in_bytes';
const V2Max = 'memory.max';

/** The memory limit. */
export function memoryWrites(version: CgroupVersion, { memory }: CgroupSettings): CgroupWrite[] {
  if (memory === undefined) return [];
  if (version === 1) return [{ controller: Controller, file: V1Limit, value: String(memory) }];
  return [{ controller: Controller, file: V2Max, value: memory < 0 ? 'max' : String(memory) }];
}
