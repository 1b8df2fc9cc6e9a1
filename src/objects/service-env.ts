/** The part of a v1 Service that its variables are made of. */
export interface ServiceForEnv {
  metadata: { name: string; namespace?: string };
  spec: { clusterIP?: string; ports?: { name?: string; port: number; protocol?: string }[] | null };
}

export interface ServiceVariable {
  name: string;
  value: string;
}

const Headless = 'None';
/** Given to every pod, whatever its namespace: clients inside the cluster find the API server by it. */
const ApiService = { namespace: 'default', name: 'kubernetes' };

/**
 * The services whose variables a pod gets: those of its namespace if it wants links to them, and the API server's
 * always. A later service of the same name wins, except over the API server's. Source: contract pod-lifecycle.md §10.
 */
export function servicesFor<S extends ServiceForEnv>(services: Iterable<S>, namespace: string, enableServiceLinks: boolean): S[] {
  const chosen = new Map<string, S>();
  for (const service of services) {
    const { name, namespace: own } = service.metadata;
    if (!hasClusterIP(service)) continue;
    if (own === ApiService.namespace && name === ApiService.name) {
      if (!chosen.has(name)) chosen.set(name, service);
    } else if (own === namespace && enableServiceLinks) {
      chosen.set(name, service);
    }
  }
  return [...chosen.values()];
}

/** The variables of services, in their order; headless ones and ones without ports have none. Source: vectors service-env. */
export function serviceVariables(services: Iterable<ServiceForEnv>): ServiceVariable[] {
  return [...services].filter(hasClusterIP).flatMap(variablesOf);
}

function hasClusterIP({ spec }: ServiceForEnv): boolean {
  return spec.clusterIP !== undefined && spec.clusterIP !== null && spec.clusterIP !== '' && spec.clusterIP !== Headless;
}

function variablesOf({ metadata, spec }: ServiceForEnv): ServiceVariable[] {
  const ip = spec.clusterIP ?? '';
  const ports = spec.ports ?? [];
  const [first] = ports;
  if (first === undefined) return [];
  const prefix = variableName(metadata.name);
  const named = ports
    .filter((port) => port.name)
    .map((port) => [`SERVICE_PORT_${variableName(port.name ?? '')}`, String(port.port)] as const);
  const links = ports.flatMap((port) => {
    const protocol = port.protocol || 'TCP';
    const base = `PORT_${port.port}_${protocol.toUpperCase()}`;
    return [
      [base, url(port, ip)],
      [`${base}_PROTO`, protocol.toLowerCase()],
      [`${base}_PORT`, String(port.port)],
      [`${base}_ADDR`, ip],
    ] as const;
  });
  const all = [['SERVICE_HOST', ip], ['SERVICE_PORT', String(first.port)], ...named, ['PORT', url(first, ip)], ...links] as const;
  return all.map(([suffix, value]) => ({ name: `${prefix}_${suffix}`, value }));
}

function url({ port, protocol }: { port: number; protocol?: string }, ip: string): string {
  return `${(protocol || 'TCP').toLowerCase()}://${ip.includes(':') ? `[${ip}]` : ip}:${port}`;
}

function variableName(name: string): string {
  return name.replaceAll('-', '_').toUpperCase();
}
