import type { Container } from '../api/types.ts';

/** A probe or hook that cannot even be tried: a port nobody defines, a host that is none. */
export class ProbeSetupError extends Error {
  override readonly name = 'ProbeSetupError';
}

/** A port by number, or by the name of one of the container's ports. Throws ProbeSetupError. Source: vectors http-probe-request. */
export function resolvePort(port: number | string, container: Pick<Container, 'ports'>): number {
  const number = typeof port === 'number' ? port : container.ports?.find((p) => p.name === port)?.containerPort;
  if (number === undefined) throw new ProbeSetupError(`port ${JSON.stringify(port)} not found`);
  if (!Number.isInteger(number) || number < 1 || number > 65_535) throw new ProbeSetupError(`invalid port number: ${number}`);
  return number;
}

/** `host:port`, an IPv6 address in brackets. */
export function joinHostPort(host: string, port: number): string {
  return host.includes(':') || host.includes('%') ? `[${host}]:${port}` : `${host}:${port}`;
}
