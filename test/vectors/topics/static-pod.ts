import { ConfigSeenAnnotation } from '../../../src/api/annotations.ts';
import { readManifest } from '../../../src/sources/parse-pod.ts';
import type { Checker } from '../checker.ts';
import { expectSame } from '../checker.ts';
export const check: Checker = async (c) => {
  const { manifest, nodeName, path } = c.in as Record<string, string>;
  if (typeof manifest !== 'string') return { verdict: 'excepted', reason: 'todo' };
  const out = c.out as { pod: unknown; hashedText?: string } | undefined;
  return expectSame({ ...c, ...(out && { out: { pod: out.pod } }) }, () => {
    const { pods, faults } = readManifest(manifest, { kind: 'file', location: path ?? '', nodeName: nodeName ?? '' });
    if (faults.length) throw new Error(JSON.stringify(faults));
    return { pod: pods[0] };
  });
};
void ConfigSeenAnnotation;
