import type { ContainerPort, HTTPGetAction, LifecycleHandler } from '../api/types.ts';
import { goJsonString } from '../compat/go-text.ts';

/**
 * JSON as Go writes it, field by field in the order of the API types and without empty optional ones: annotations on
 * containers that a real kubelet reads back after a swap.
 */

type Field = [name: string, json: string | undefined];

function object(...fields: Field[]): string {
  return `{${fields.flatMap(([name, json]) => (json === undefined ? [] : [`"${name}":${json}`])).join(',')}}`;
}

const text = (value: string | undefined | null) =>
  value === undefined || value === null || value === '' ? undefined : goJsonString(value);
const number = (value: number | undefined | null) => (value === undefined || value === null || value === 0 ? undefined : String(value));
const port = (value: number | string) => (typeof value === 'number' ? String(value) : goJsonString(value));
const list = (items: readonly string[] | undefined | null) =>
  items === undefined || items === null || items.length === 0 ? undefined : `[${items.join(',')}]`;

/** A lifecycle handler, as the annotation io.kubernetes.container.preStopHandler has it. */
export function lifecycleHandlerJson({ exec, httpGet, tcpSocket, sleep }: LifecycleHandler): string {
  return object(
    ['exec', exec ? object(['command', list(exec.command?.map(goJsonString))]) : undefined],
    ['httpGet', httpGet ? httpGetJson(httpGet) : undefined],
    ['tcpSocket', tcpSocket ? object(['port', port(tcpSocket.port)], ['host', text(tcpSocket.host)]) : undefined],
    ['sleep', sleep ? object(['seconds', String(sleep.seconds)]) : undefined],
  );
}

/** Container ports, as the annotation io.kubernetes.container.ports has them. */
export function containerPortsJson(ports: readonly ContainerPort[]): string {
  const items = ports.map((p) =>
    object(
      ['name', text(p.name)],
      ['hostPort', number(p.hostPort)],
      ['containerPort', String(p.containerPort)],
      ['protocol', text(p.protocol)],
      ['hostIP', text(p.hostIP)],
    ),
  );
  return `[${items.join(',')}]`;
}

function httpGetJson(action: HTTPGetAction): string {
  const headers = action.httpHeaders?.map(({ name, value }) => object(['name', goJsonString(name)], ['value', goJsonString(value)]));
  return object(
    ['path', text(action.path)],
    ['port', port(action.port)],
    ['host', text(action.host)],
    ['scheme', text(action.scheme)],
    ['httpHeaders', list(headers)],
  );
}
