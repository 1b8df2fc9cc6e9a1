import assert from 'node:assert/strict';
import { posix } from 'node:path';
import test from 'node:test';
import { read } from './sourceFiles.ts';

/** Files loaded with `path` before anything is called: what static imports reach that are not of types alone. */
function loadedWith(path: string, found = new Set<string>()): Set<string> {
  if (found.has(path)) return found;
  found.add(path);
  for (const [, clause = '', from = ''] of read(path).matchAll(/^(?:import|export)\b([^'";]*?)\bfrom\s*'([^']+)';/gm)) {
    if (/^\s*type\b/.test(clause)) continue;
    if (from.startsWith('.')) loadedWith(posix.join(posix.dirname(path), from), found);
    else found.add(from);
  }
  return found;
}

test('an agent without an API server loads no API client', () => {
  const loaded = loadedWith('src/cli/run-kubelet.ts');
  assert.ok(loaded.has('src/kubelet.ts') && loaded.has('src/cli/node.ts'));
  const heavy =
    /^src\/kube\/(connect|credentials|kubeconfig|http-client|node-transport|http2-connection|event-recorder|reflector)\.ts$|^@kubernetes\/|^src\/cli\/cluster\.ts$/;
  assert.deepEqual(
    [...loaded].filter((path) => heavy.test(path)),
    [],
  );
  assert.ok(loadedWith('src/cli/cluster.ts').has('src/kube/node-transport.ts'), 'the rule sees what it forbids');
});
