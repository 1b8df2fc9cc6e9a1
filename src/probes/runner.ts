import type { Container, EnvVar, HTTPGetAction } from '../api/types.ts';
import type { CriRuntime } from '../cri/ports.ts';
import { ExecProber } from './exec-probe.ts';
import { grpcProbe } from './grpc-probe.ts';
import { httpProbe } from './http-probe.ts';
import { type HttpRequest, httpGetRequest } from './http-request.ts';
import type { ProbeOutcome } from './outcome.ts';
import { ProbeSetupError, resolvePort } from './port.ts';
import type { Schedule } from './schedule.ts';
import { tcpProbe } from './tcp-probe.ts';
import { type ProbeTarget, probeOf } from './types.ts';

/** Tries one probe once. */
export interface ProbeRunner {
  /** Rejects when the try gave no result. */
  run(target: ProbeTarget, signal: AbortSignal): Promise<ProbeOutcome>;
}

export interface ProbersDeps {
  runtime: Pick<CriRuntime, 'execSync'>;
  schedule: Schedule;
  /** Puts variables into a command: those whose value stands in the pod itself. */
  expandCommand(command: readonly string[], env: readonly EnvVar[]): string[];
}

/** The four kinds of probes on the machine's own network and runtime. */
export class Probers implements ProbeRunner {
  readonly #deps: ProbersDeps;
  readonly #exec: ExecProber;
  readonly #requests = new WeakMap<HTTPGetAction, { podIp: string; request: HttpRequest }>();

  constructor(deps: ProbersDeps) {
    this.#deps = deps;
    this.#exec = new ExecProber(deps.runtime, deps.schedule);
  }

  run(target: ProbeTarget, signal: AbortSignal): Promise<ProbeOutcome> {
    try {
      return this.#run(target, signal);
    } catch (err) {
      return Promise.reject(err instanceof Error ? err : new Error(String(err)));
    }
  }

  #run({ container, type, containerId, podIp }: ProbeTarget, signal: AbortSignal): Promise<ProbeOutcome> {
    const { schedule, expandCommand } = this.#deps;
    const spec = probeOf(container, type) ?? {};
    const seconds = spec.timeoutSeconds ?? 1;
    if (spec.exec !== undefined) {
      const command = expandCommand(spec.exec.command ?? [], container.env ?? []);
      return this.#exec.run({ containerId, type }, command, seconds, signal);
    }
    const timeoutMs = seconds * 1000;
    if (spec.httpGet !== undefined) {
      return httpProbe(schedule, this.#request(spec.httpGet, container, podIp), { timeoutMs, signal });
    }
    if (spec.tcpSocket !== undefined) {
      const { host, port } = spec.tcpSocket;
      return tcpProbe(schedule, host || podIp, resolvePort(port, container), timeoutMs, signal);
    }
    if (spec.grpc !== undefined) return grpcProbe(schedule, podIp, spec.grpc.port, spec.grpc.service ?? '', timeoutMs, signal);
    throw new ProbeSetupError(`missing probe handler for container ${container.name}`);
  }
  /** The request of a probe is the same until the pod gets another address. */
  #request(action: HTTPGetAction, container: Container, podIp: string): HttpRequest {
    const known = this.#requests.get(action);
    if (known !== undefined && known.podIp === podIp) return known.request;
    const request = httpGetRequest(action, container, podIp, 'probe');
    this.#requests.set(action, { podIp, request });
    return request;
  }
}
