/** What a request asks to be allowed (contract http-api §3). */
export interface Attributes {
  verb: string;
  /** Tried in order. */
  subresources: readonly string[];
  path: string;
}

const verbs: ReadonlyMap<string, string> = new Map([
  ['GET', 'get'],
  ['POST', 'create'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
]);

/** By the first segment of the path; everything else is `proxy`. */
const subresources: ReadonlyMap<string, readonly string[]> = new Map([
  ['allocatedPods', ['pods', 'proxy']],
  ['pods', ['pods', 'proxy']],
  ['runningpods', ['pods', 'proxy']],
  ['healthz', ['healthz', 'proxy']],
  ['configz', ['configz', 'proxy']],
  ['stats', ['stats']],
  ['metrics', ['metrics']],
  ['logs', ['log']],
  ['checkpoint', ['checkpoint']],
  ['statusz', ['statusz']],
  ['flagz', ['configz']],
]);

/** What runs something in a container is `create` whatever the method: a WebSocket begins as GET. */
const alwaysCreate: ReadonlySet<string> = new Set(['exec', 'attach', 'run', 'portForward']);

/** `segments`: of the decoded path. */
export function attributesOf(method: string, segments: readonly string[], path: string): Attributes {
  const first = segments[0] ?? '';
  const verb = alwaysCreate.has(first) ? 'create' : (verbs.get(method) ?? '');
  return { verb, subresources: subresources.get(first) ?? ['proxy'], path };
}
