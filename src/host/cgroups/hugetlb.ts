import type { CgroupSettings, CgroupVersion, CgroupWrite } from './settings.ts';

const Controller = 'hugetlb';
const KiB = 1024;

/** One limit a page size. */
export function hugetlbWrites(version: CgroupVersion, { hugetlb }: CgroupSettings): CgroupWrite[] {
  const suffix = version === 1 ? 'limit_in_bytes' : 'max';
  return [...(hugetlb ?? [])].map(([pageSize, limit]) => ({
    controller: Controller,
    file: `${Controller}.${hugepageUnit(pageSize)}.${suffix}`,
    // 2^62 and its like must not be written as 4.6e18.
    value: BigInt(limit).toString(),
  }));
}

/** A page size as the kernel and runtimes name it: `64KB`, `2MB`, `1GB`. `pageSize` is in bytes. */
export function hugepageUnit(pageSize: number): string {
  if (pageSize >= KiB ** 3) return `${Math.floor(pageSize / KiB ** 3)}GB`;
  return pageSize >= KiB ** 2 ? `${Math.floor(pageSize / KiB ** 2)}MB` : `${Math.floor(pageSize / KiB)}KB`;
}
