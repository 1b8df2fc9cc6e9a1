import type { ResolvedConfig } from './resolve.ts';
import type { Rules } from './rules.ts';

const policyField = 'imagePullCredentialsVerificationPolicy';
const listField = 'preloadedImagesVerificationAllowlist';
const gate = 'KubeletEnsureSecretPulledImages';

/** Who may use images that are present, and the list of images that everybody may. Contract: flags-config.md §3. */
export function validateImages(c: ResolvedConfig, rules: Rules): void {
  const parallel = c.maxParallelImagePulls;
  if (parallel !== undefined) {
    rules.check(parallel >= 1, 'maxParallelImagePulls', parallel, 'must be at least 1');
    rules.check(
      parallel <= 1 || !c.serializeImagePulls,
      'maxParallelImagePulls',
      parallel,
      'must not be above 1 while serializeImagePulls is true',
    );
  }
  const policy = c.imagePullCredentialsVerificationPolicy;
  const allowlist = c.preloadedImagesVerificationAllowlist;
  if (!c.gates.enabled(gate)) {
    rules.gate(policy === '', policyField, policy, gate);
    rules.gate(allowlist.length === 0, listField, undefined, gate);
    return;
  }
  rules.choice(policyField, policy, ['NeverVerify', 'NeverVerifyPreloadedImages', 'NeverVerifyAllowlistedImages', 'AlwaysVerify']);
  if (allowlist.length > 0 && policy !== 'NeverVerifyAllowlistedImages') {
    rules.check(false, listField, undefined, `needs ${policyField} to be NeverVerifyAllowlistedImages`);
    return;
  }
  const bad = allowlist.flatMap((pattern) => {
    const fault = patternFault(pattern);
    return fault === undefined ? [] : [`${JSON.stringify(pattern)} ${fault}`];
  });
  rules.check(bad.length === 0, listField, undefined, bad.join('; '));
}

/** An image repository without tag and digest, or a prefix of repositories that ends in `/*`. */
function patternFault(pattern: string): string | undefined {
  if (pattern !== pattern.trim()) return 'has spaces around it';
  const wildcard = pattern.endsWith('/*');
  const name = wildcard ? pattern.slice(0, -1) : pattern;
  if (name === '') return 'is too short';
  if (name.includes('*')) return 'has a * elsewhere than in a final /*';
  if (wildcard) return name === '/' ? 'names no registry' : undefined;
  return repositoryFault(name);
}

const domainPart = /^(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])$/;
const pathPart = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const longestName = 255;

function isDomain(text: string): boolean {
  const match = /^(\[[0-9a-fA-F:]+\]|[^:]*)(?::(\d+))?$/.exec(text);
  if (match === null) return false;
  const host = match[1] ?? '';
  return host.startsWith('[') || host.split('.').every((part) => domainPart.test(part));
}

/** By the grammar of image references: [domain/]path[:tag][@digest], of which tag and digest are not wanted. */
function repositoryFault(name: string): string | undefined {
  const at = name.indexOf('@');
  const beforeDigest = at === -1 ? name : name.slice(0, at);
  const colon = beforeDigest.lastIndexOf(':');
  const hasTag = colon > beforeDigest.lastIndexOf('/');
  const repository = hasTag ? beforeDigest.slice(0, colon) : beforeDigest;
  const parts = repository.split('/');
  const path = parts.length > 1 && isDomain(parts[0] ?? '') ? parts.slice(1) : parts;
  if (!path.every((part) => pathPart.test(part))) return 'is not an image name';
  if (repository.length > longestName) return `is longer than ${longestName} characters`;
  if (hasTag || at !== -1) return 'has a tag or a digest, which must not be there';
  return undefined;
}
