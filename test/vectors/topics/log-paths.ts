import { formatContainerId, isEmptyContainerId, parseContainerId } from '../../../src/api/container-id.ts';
import { parsePodFullName, podFullName } from '../../../src/api/pod.ts';
import type { Container, ObjectMeta, Pod } from '../../../src/api/types.ts';
import { backoffKey, backoffKeyText } from '../../../src/compat/backoff-key.ts';
import { containerLogsDirectory, podLogsDirectory } from '../../../src/containers/log-paths.ts';
import { type Checker, classOf, excepted, expectSame, fail, type VectorCase } from '../checker.ts';

const POINTER = /\{0xc[0-9a-f]+\}/g;
const RANDOM_KEY = 'the real text holds the address of a big decimal, so that the real key differs in every process';

function fullName(c: VectorCase): Record<string, unknown> {
  const name = podFullName({ metadata: c.in as unknown as ObjectMeta });
  const parsed = parsePodFullName(name);
  // The error's wording is ours; what is compared is whether there is one.
  const wanted = (c.out as Record<string, unknown> | undefined)?.['parseError'];
  return {
    fullName: name,
    parsedName: parsed?.name ?? '',
    parsedNamespace: parsed?.namespace ?? '',
    ...(parsed ? {} : { parseError: wanted ?? 'refused' }),
  };
}

const classes = new Map<string, (c: VectorCase) => unknown>([
  [
    'dir',
    (c) => {
      const pod = c.in as unknown as ObjectMeta;
      const root = String(c.in['root']);
      return { podDir: podLogsDirectory(root, pod), containerDir: containerLogsDirectory(root, pod, String(c.in['container'])) };
    },
  ],
  [
    'backoff',
    (c) => {
      const [pod, container] = [c.in['pod'] as Pod, c.in['container'] as Container];
      return { key: backoffKey(pod, container), hashedText: backoffKeyText(pod, container) };
    },
  ],
  ['full-name', fullName],
  [
    'container-id',
    (c) => {
      const id = parseContainerId(String(c.in['text']));
      const string = formatContainerId(id);
      return { ...id, isEmpty: isEmptyContainerId(id), string, json: JSON.stringify(string) };
    },
  ],
]);

export const check: Checker = async (c) => {
  const run = classes.get(classOf(c));
  if (run === undefined) return fail(`unknown class ${classOf(c)}`);
  const text = (c.out as Record<string, unknown> | undefined)?.['hashedText'];
  if (typeof text !== 'string' || text.search(POINTER) < 0) return expectSame(c, () => run(c));
  const masked = { ...c, out: { hashedText: text.replace(POINTER, '{…}') } };
  const verdict = await expectSame(masked, () => {
    const ours = backoffKeyText(c.in['pod'] as Pod, c.in['container'] as Container);
    return { hashedText: ours.replace(/\{-?[0-9]+e-?[0-9]+\}/g, '{…}') };
  });
  return verdict.verdict === 'pass' ? excepted(RANDOM_KEY) : verdict;
};
