import { ApiRequestError } from './apiClient.ts';
import type { Cluster } from './cluster.ts';

const Pods = '/api/v1/namespaces/default/pods';

/** Waits until the output of a container of a pod in `default` matches; resolves with all of it. */
export function podOutput(
  cluster: Cluster,
  pod: string,
  pattern: RegExp,
  { container, timeoutMs }: { container?: string; timeoutMs?: number | undefined } = {},
): Promise<string> {
  const [of, query] = container === undefined ? [pod, ''] : [`${pod}/${container}`, `?container=${container}`];
  const look = async () => {
    try {
      const text = await cluster.api.text(`${Pods}/${pod}/log${query}`);
      return pattern.test(text) && text;
    } catch (error) {
      // Not started yet.
      if (error instanceof ApiRequestError) return false;
      throw error;
    }
  };
  return cluster.until(`the output of ${of} to match ${pattern}`, look, timeoutMs);
}

/** Waits until the API server has no such pod in `default`. */
export async function podGone(cluster: Cluster, pod: string, timeoutMs?: number): Promise<void> {
  await cluster.until(`${pod} to be gone`, async () => (await cluster.api.find(`${Pods}/${pod}`)) === undefined, timeoutMs);
}
