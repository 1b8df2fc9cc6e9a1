import { request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Container, HTTPGetAction, LifecycleHandler, Pod } from '../api/types.ts';
import type { CriRuntime } from '../cri/ports.ts';
import type { Clock } from '../host/clock.ts';

export interface HookTarget {
  pod: Pod;
  container: Container;
  containerId: string;
  podIps: string[];
}

export interface HooksDeps {
  runtime: Pick<CriRuntime, 'execSync'>;
  clock: Clock;
}

const USER_AGENT = 'kube-lifecycle/1.37';

/** Lifecycle hooks (contract: pod-lifecycle §7): exec, httpGet and sleep. */
export class Hooks {
  readonly #deps: HooksDeps;

  constructor(deps: HooksDeps) {
    this.#deps = deps;
  }

  /** Rejects when the hook failed, or on an abort. Any HTTP answer is a success. */
  async run(hook: LifecycleHandler, target: HookTarget, signal: AbortSignal): Promise<void> {
    if (hook.exec !== undefined) {
      const { exitCode } = await this.#deps.runtime.execSync(target.containerId, hook.exec.command ?? [], 0, { signal });
      if (exitCode !== 0) throw new Error(`command exited with ${exitCode}`);
    } else if (hook.httpGet !== undefined) {
      await httpHook(hook.httpGet, target, signal);
    } else if (hook.sleep !== undefined) {
      await this.#deps.clock.sleep(hook.sleep.seconds * 1000, signal);
    } else {
      throw new Error(`invalid handler: ${JSON.stringify(Object.keys(hook))}: use exec, httpGet or sleep`);
    }
  }
}

async function httpHook(action: HTTPGetAction, target: HookTarget, signal: AbortSignal): Promise<void> {
  const host = action.host || target.podIps[0];
  if (host === undefined || host === '') throw new Error('the pod has no address yet');
  const headers = new Headers({ 'User-Agent': USER_AGENT, Accept: '*/*' });
  for (const { name, value } of action.httpHeaders ?? []) headers.set(name, value);
  const port = hookPort(action.port, target.container);
  const path = action.path === undefined || action.path === '' ? '/' : action.path.startsWith('/') ? action.path : `/${action.path}`;
  const options = { host, port, path, headers: Object.fromEntries(headers), signal, agent: false as const };
  const https = action.scheme === 'HTTPS';
  try {
    await answered(https, options);
  } catch (err) {
    if (!https || !isPlainAnswer(err)) throw err;
    headers.delete('Authorization');
    await answered(false, { ...options, headers: Object.fromEntries(headers) });
  }
}

function answered(https: boolean, options: RequestOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const answer = (res: { destroy(): void }) => {
      resolve();
      res.destroy();
    };
    const req = https ? httpsRequest({ ...options, rejectUnauthorized: false }, answer) : httpRequest(options, answer);
    req.on('error', reject);
    req.end();
  });
}

/** A server that speaks plain HTTP where TLS was expected. */
function isPlainAnswer(err: unknown): boolean {
  return err instanceof Error && 'code' in err && (err.code === 'EPROTO' || err.code === 'ERR_SSL_WRONG_VERSION_NUMBER');
}

/** A port by number or by the name of one of the container's ports. Throws when there is no such name. */
export function hookPort(port: number | string, container: Container): number {
  if (typeof port === 'number') return port;
  const named = container.ports?.find((p) => p.name === port);
  if (named !== undefined) return named.containerPort;
  const parsed = Number(port);
  if (Number.isInteger(parsed) && parsed > 0 && parsed < 65536) return parsed;
  throw new Error(`couldn't find port "${port}" in container ${container.name}`);
}
