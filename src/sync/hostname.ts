import type { Pod } from '../api/types.ts';
import { ConfigGenerationError } from './config-error.ts';
import { isDnsLabel, isDnsSubdomain } from './names.ts';

/** The kernel's node name holds 64 bytes. */
const MaxFqdn = 64;
const MaxHostname = 63;

export interface PodHostname {
  hostname: string;
  /** `{subdomain}.{namespace}.svc.{clusterDomain}`, empty without a subdomain. */
  domain: string;
}

/**
 * The pod's host name and domain: hostnameOverride, else hostname, else the pod's name, cut to 63 characters.
 * Throws ConfigGenerationError for a name that is no DNS name. Source: contract pod-lifecycle.md §11.
 */
export function podHostname(pod: Pod, clusterDomain: string): PodHostname {
  const { hostnameOverride, hostname, subdomain } = pod.spec;
  if (hostnameOverride !== undefined && hostnameOverride !== null) {
    if (!isDnsSubdomain(hostnameOverride)) {
      throw new ConfigGenerationError(`spec.hostnameOverride ${JSON.stringify(hostnameOverride)} is not a DNS subdomain`);
    }
    return { hostname: truncate(hostnameOverride), domain: '' };
  }
  if (hostname && !isDnsLabel(hostname)) {
    throw new ConfigGenerationError(`spec.hostname ${JSON.stringify(hostname)} is not a DNS label`);
  }
  if (subdomain && !isDnsLabel(subdomain)) {
    throw new ConfigGenerationError(`spec.subdomain ${JSON.stringify(subdomain)} is not a DNS label`);
  }
  return {
    hostname: truncate(hostname || pod.metadata.name),
    domain: subdomain ? `${subdomain}.${pod.metadata.namespace}.svc.${clusterDomain}` : '',
  };
}

/**
 * What the kernel's node name is set to: the host name, or with setHostnameAsFQDN the full name, which must fit.
 * Throws ConfigGenerationError when it does not.
 */
export function kernelHostname({ hostname, domain }: PodHostname, setHostnameAsFQDN: boolean | undefined): string {
  if (setHostnameAsFQDN !== true || domain === '') return hostname;
  const fqdn = `${hostname}.${domain}`;
  if (fqdn.length > MaxFqdn) {
    throw new ConfigGenerationError(
      `failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too long (${MaxFqdn} characters is the max, ${fqdn.length} characters requested): use a shorter spec.hostname or spec.subdomain`,
    );
  }
  return fqdn;
}

function truncate(hostname: string): string {
  if (hostname.length <= MaxHostname) return hostname;
  let end = MaxHostname;
  while (end > 0 && (hostname[end - 1] === '-' || hostname[end - 1] === '.')) end--;
  if (end === 0) throw new ConfigGenerationError(`no host name can be made of ${JSON.stringify(hostname)}`);
  return hostname.slice(0, end);
}
