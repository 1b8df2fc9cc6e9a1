import { HttpError } from './errors.ts';

/** Where a request goes. Authorization and routing both look at `segments`, so that they cannot mean different things. */
export interface Target {
  /** Decoded parts of the path, without a last empty one. */
  segments: readonly string[];
  /** The path ends in `/`. */
  trailingSlash: boolean;
  url: URL;
}

/** Reads a request's target. Throws HttpError 400 for a path that could be read in more than one way. */
export function targetOf(text: string): Target {
  const fault = (why: string) => new HttpError(400, `bad request path: ${why}\n`);
  if (!text.startsWith('/')) throw fault('it does not begin with a slash');
  const url = URL.parse(`http://kubelet${text}`);
  if (url === null || text.includes('#')) throw fault('it is not valid');
  const raw = (text.split('?', 1)[0] ?? '').slice(1).split('/');
  const trailingSlash = raw.length > 1 && raw.at(-1) === '';
  if (trailingSlash) raw.pop();
  const segments = raw.map((part) => {
    let segment: string;
    try {
      segment = decodeURIComponent(part);
    } catch {
      throw fault('it is not valid');
    }
    if (segment === '.' || segment === '..' || segment.includes('/') || segment.includes('\0'))
      throw fault('it has a segment that is not a name');
    return segment;
  });
  if (raw.length > 1 && segments.includes('')) throw fault('it has an empty segment');
  return { segments, trailingSlash, url };
}
