/**
 * Image references as container engines read them. Source: vectors image-names; the grammar of
 * github.com/distribution/reference.
 */

export interface ImageName {
  /** With the registry: `docker.io/library/busybox`. */
  repo: string;
  /** `latest` where there is neither tag nor digest; "" with a digest alone. */
  tag: string;
  /** `sha256:…`, or "". */
  digest: string;
}

export class ImageNameError extends Error {
  readonly code = 'invalid-image-name';
  constructor(image: string, reason: string) {
    super(`invalid image name ${JSON.stringify(image.slice(0, 300))}: ${reason}`);
    this.name = 'ImageNameError';
  }
}

const DEFAULT_DOMAIN = 'docker.io';
const LEGACY_DOMAIN = 'index.docker.io';
const OFFICIAL = 'library/';
const DEFAULT_TAG = 'latest';
const MAX_PATH_LENGTH = 255;

const PATH_PART = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const PATH = `${PATH_PART}(?:/${PATH_PART})*`;
const DOMAIN_PART = '[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?';
const DOMAIN = `(?:${DOMAIN_PART}(?:\\.${DOMAIN_PART})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const TAG = '[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}';
const DIGEST = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}';
const REFERENCE = new RegExp(`^(?:(${DOMAIN})/)?(${PATH})(?::(${TAG}))?(?:@(${DIGEST}))?$`);
/** An image id, which would be taken for a name. */
const IDENTIFIER = /^[a-f0-9]{64}$/;
const HEX_DIGITS = new Map([
  ['sha256', 64],
  ['sha384', 96],
  ['sha512', 128],
]);

/** Tells a registry from the first part of a path, and fills in the default registry and its `library/`. */
function splitDomain(image: string): [domain: string, rest: string] {
  const slash = image.indexOf('/');
  if (slash < 0) return [DEFAULT_DOMAIN, OFFICIAL + image];
  const first = image.slice(0, slash);
  const isDomain = first === 'localhost' || /[.:]/.test(first) || first !== first.toLowerCase();
  const domain = !isDomain || first === LEGACY_DOMAIN ? DEFAULT_DOMAIN : first;
  const rest = isDomain ? image.slice(slash + 1) : image;
  return [domain, domain === DEFAULT_DOMAIN && !rest.includes('/') ? OFFICIAL + rest : rest];
}

function checkDigest(image: string, digest: string): void {
  const [algorithm = '', hex = ''] = digest.split(':');
  const length = HEX_DIGITS.get(algorithm);
  if (length === undefined)
    throw new ImageNameError(image, `digest algorithm ${JSON.stringify(algorithm)} is none of sha256, sha384, sha512`);
  if (hex.length !== length) throw new ImageNameError(image, `a ${algorithm} digest has ${length} hex digits`);
  if (/[^0-9a-f]/.test(hex)) throw new ImageNameError(image, 'a digest is in lower case');
}

/** Reads an image reference. Throws ImageNameError. */
export function parseImageName(image: string): ImageName {
  if (IDENTIFIER.test(image)) throw new ImageNameError(image, 'it is an image id; want a name');
  const [domain, rest] = splitDomain(image);
  const [name = ''] = rest.split(':', 1);
  if (name !== name.toLowerCase()) throw new ImageNameError(image, 'the repository must be in lower case');
  const match = REFERENCE.exec(`${domain}/${rest}`);
  if (match === null) throw new ImageNameError(image, 'want [registry[:port]/]name[:tag][@digest]');
  const [, registry, path = '', tag = '', digest = ''] = match;
  if (path.length > MAX_PATH_LENGTH) throw new ImageNameError(image, `the repository is longer than ${MAX_PATH_LENGTH} characters`);
  if (digest !== '') checkDigest(image, digest);
  const repo = registry === undefined ? path : `${registry}/${path}`;
  return { repo, tag: tag === '' && digest === '' ? DEFAULT_TAG : tag, digest };
}

/** The image with `:latest` where it has neither tag nor digest; otherwise as it is written. Throws ImageNameError. */
export function applyDefaultImageTag(image: string): string {
  const { tag, digest } = parseImageName(image);
  return digest === '' && !image.endsWith(`:${tag}`) ? `${image}:${tag}` : image;
}

/** The pull policy of a container that names none: Always for the tag `latest`, also for the implied one. */
export function defaultPullPolicy(image: string): 'Always' | 'IfNotPresent' {
  try {
    return parseImageName(image).tag === DEFAULT_TAG ? 'Always' : 'IfNotPresent';
  } catch (error) {
    if (error instanceof ImageNameError) return 'IfNotPresent';
    throw error;
  }
}
