import type { Container, HTTPGetAction, LifecycleHandler, Pod } from '../api/types.ts';
import type { CriRuntime } from '../cri/ports.ts';
import type { Clock } from '../host/clock.ts';
import { HttpGetError, httpGet } from './http-get.ts';
import { httpGetRequest } from './http-request.ts';
import { PlainAnswer } from './raw-http.ts';
import { Schedule } from './schedule.ts';

export interface HookTarget {
  pod: Pod;
  container: Container;
  containerId: string;
  podIps: string[];
}

export interface HookMetrics {
  /** kubelet_lifecycle_handler_http_fallbacks_total: a hook over HTTPS that was asked over HTTP in the end. */
  hookFellBack(): void;
  /** kubelet_sleep_action_terminated_early_total: a sleep that was cut short. */
  sleepCut(): void;
}

export interface HooksDeps {
  runtime: Pick<CriRuntime, 'execSync'>;
  clock: Clock;
  metrics?: HookMetrics;
}

/** Lifecycle hooks (contract: pod-lifecycle §7): exec, httpGet and sleep. */
export class Hooks {
  readonly #deps: HooksDeps;
  readonly #schedule: Schedule;

  constructor(deps: HooksDeps) {
    this.#deps = deps;
    this.#schedule = new Schedule(deps.clock);
  }

  /** Rejects when the hook failed, or on an abort. Any HTTP answer is a success. */
  async run(hook: LifecycleHandler, target: HookTarget, signal: AbortSignal): Promise<void> {
    if (hook.exec !== undefined) {
      const { exitCode } = await this.#deps.runtime.execSync(target.containerId, hook.exec.command ?? [], 0, { signal });
      if (exitCode !== 0) throw new Error(`command exited with ${exitCode}`);
    } else if (hook.httpGet !== undefined) {
      await this.#http(hook.httpGet, target, signal);
    } else if (hook.sleep !== undefined) {
      await this.#deps.clock.sleep(hook.sleep.seconds * 1000, signal).catch((err: unknown) => {
        this.#deps.metrics?.sleepCut();
        throw err;
      });
    } else {
      throw new Error(`invalid handler: ${JSON.stringify(Object.keys(hook))}: use exec, httpGet or sleep`);
    }
  }

  async #http(action: HTTPGetAction, { container, podIps }: HookTarget, signal: AbortSignal): Promise<void> {
    const podIp = podIps[0] ?? '';
    if (!action.host && podIp === '') throw new Error('the pod has no address yet');
    const request = httpGetRequest(action, container, podIp, 'lifecycle');
    const options = { timeoutMs: 0, headOnly: true, signal };
    try {
      await httpGet(this.#schedule, request, options);
    } catch (err) {
      if (!(err instanceof HttpGetError && err.cause instanceof PlainAnswer)) throw err;
      this.#deps.metrics?.hookFellBack();
      // Credentials that were meant for TLS do not go over a plain connection.
      const headers = new Map(request.headers);
      headers.delete('Authorization');
      await httpGet(this.#schedule, { ...request, target: { ...request.target, scheme: 'http' }, headers }, options);
    }
  }
}
