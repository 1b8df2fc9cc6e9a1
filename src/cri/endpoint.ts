/** Where a runtime listens: gRPC's name for it, and whether the configuration spelled it the old way. */
export interface EndpointTarget {
  /** `unix:/path` or `dns:host:port`. */
  target: string;
  /** True for a bare path: still accepted, with a warning that names the full form. */
  deprecated: boolean;
}

/**
 * Reads containerRuntimeEndpoint or imageServiceEndpoint: `unix:///path`, `tcp://host:port`, or a bare path (contract:
 * compat-matrix.md §1). Throws an Error that says what is wrong with it.
 */
export function endpointTarget(endpoint: string): EndpointTarget {
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(endpoint)?.[1]?.toLowerCase();
  if (endpoint === '') throw new Error('the container runtime endpoint is empty');
  if (endpoint.includes('\0')) throw new Error('the container runtime endpoint contains a NUL character');
  if (scheme === undefined) {
    if (!endpoint.startsWith('/')) throw new Error(`the endpoint "${endpoint}" is neither an absolute path nor unix:///path`);
    return { target: `unix:${endpoint}`, deprecated: true };
  }
  if (scheme === 'unix') {
    const path = endpoint.slice('unix:'.length).replace(/^\/\/(?=\/)/, '');
    if (!path.startsWith('/') || path.startsWith('//')) throw new Error(`the endpoint "${endpoint}" needs an absolute path: unix:///path`);
    // sun_path holds 108 bytes with its end mark: a longer path fails in connect with an unhelpful EINVAL.
    if (Buffer.byteLength(path) > 107) throw new Error(`the socket path of "${endpoint}" is longer than 107 bytes`);
    return { target: `unix:${path}`, deprecated: false };
  }
  if (scheme === 'tcp') {
    const address = /^tcp:\/\/([^/]+)\/?$/i.exec(endpoint)?.[1];
    if (address === undefined || !/:\d{1,5}$/.test(address)) throw new Error(`the endpoint "${endpoint}" needs the form tcp://host:port`);
    return { target: `dns:${address}`, deprecated: false };
  }
  throw new Error(`the endpoint "${endpoint}" uses ${scheme}, which is not supported: use unix:///path`);
}
