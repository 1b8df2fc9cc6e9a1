import type { ServerResponse } from 'node:http';
import type { CriRuntime } from '../cri/ports.ts';
import { HttpError } from './errors.ts';
import { findPod, type PodView, runningContainer } from './pods.ts';

/** /run/{namespace}/{pod}/[{uid}/]{container}: a command without a terminal, its output at its end. */
export async function runCommand(
  { pods, runtime }: { pods: PodView; runtime: Pick<CriRuntime, 'execSync'> },
  rest: readonly string[],
  url: URL,
  res: ServerResponse,
): Promise<void> {
  if (rest.length !== 3 && rest.length !== 4) throw new HttpError(404, '404: Page Not Found');
  const [namespace = '', name = ''] = rest;
  const pod = findPod(pods, namespace, name);
  if (pod === undefined) throw new HttpError(404, 'pod does not exist');
  const container = rest.at(-1) ?? '';
  const id = runningContainer(pods, pod.metadata.uid, container);
  if (id === undefined) throw new HttpError(500, `container not found ("${container}")`);
  const { stdout, stderr, exitCode } = await runtime.execSync(id, (url.searchParams.get('cmd') ?? '').split(' '), 0, { timeoutMs: 0 });
  if (exitCode !== 0) throw new HttpError(500, `${Buffer.concat([stdout, stderr]).toString()}command exited with ${exitCode}`);
  res.writeHead(200, { 'Content-Type': 'application/json' });
  res.write(stdout);
  res.end(stderr);
}
