/** What a docker configuration knows of one registry. */
export interface RegistryLogin {
  username: string;
  password: string;
  email: string;
}

/** By the registry as it is written. */
export type DockerConfig = Map<string, RegistryLogin>;

/** The text of a docker configuration cannot be used. Its message never holds any of it. */
export class DockerConfigError extends Error {
  override readonly name = 'DockerConfigError';
}

/** Reads `{"auths": {registry: login}}` (config.json, secrets of type kubernetes.io/dockerconfigjson). Throws DockerConfigError. */
export function parseDockerConfigJson(text: string): DockerConfig {
  const auths = field(object(json(text), 'the docker configuration'), 'auths');
  return auths === undefined || auths === null ? new Map() : logins(auths);
}

/** Reads `{registry: login}` (.dockercfg, secrets of type kubernetes.io/dockercfg). Throws DockerConfigError. */
export function parseDockerCfg(text: string): DockerConfig {
  return logins(json(text));
}

function json(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The parser's own message quotes what it read.
    throw new DockerConfigError('the docker configuration is no JSON');
  }
}

function logins(value: unknown): DockerConfig {
  const entries = Object.entries(object(value, 'the list of registries'));
  return new Map(entries.map(([registry, entry]) => [registry, login(entry ?? {})]));
}

function login(value: unknown): RegistryLogin {
  const entry = object(value, 'the login of a registry');
  const auth = text(entry, 'auth');
  const email = text(entry, 'email');
  const named = { username: text(entry, 'username'), password: text(entry, 'password') };
  return { ...(auth === '' ? named : decodeAuth(auth)), email };
}

/** base64 of `username:password`, with or without padding. */
function decodeAuth(auth: string): { username: string; password: string } {
  const plain = auth.replace(/[\r\n]/g, '');
  const padded = auth.trim().endsWith('=');
  const valid = padded
    ? plain.length % 4 === 0 && /^[A-Za-z0-9+/]*={1,2}$/.test(plain)
    : plain.length % 4 !== 1 && /^[A-Za-z0-9+/]*$/.test(plain);
  if (!valid) throw new DockerConfigError('the field auth of a registry is no base64');
  const decoded = Buffer.from(plain, 'base64').toString();
  const colon = decoded.indexOf(':');
  if (colon < 0) throw new DockerConfigError('the field auth of a registry is not the base64 of username:password');
  return { username: decoded.slice(0, colon), password: decoded.slice(colon + 1) };
}

function object(value: unknown, what: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new DockerConfigError(`${what} is no JSON object`);
}

/** By its name in any case, as Go reads JSON; the last one counts. */
function field(of: Record<string, unknown>, name: string): unknown {
  return Object.entries(of).findLast(([key]) => key.toLowerCase() === name)?.[1];
}

function text(of: Record<string, unknown>, name: string): string {
  const value = field(of, name) ?? '';
  if (typeof value !== 'string') throw new DockerConfigError(`the field ${name} of a registry is no text`);
  return value;
}
