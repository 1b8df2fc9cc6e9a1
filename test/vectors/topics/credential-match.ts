import { credentialHash } from '../../../src/images/credential-index.ts';
import { indexOfSecrets } from '../../../src/images/keyring-pod.ts';
import { parseSchemelessUrl, registryMatches, splitHost } from '../../../src/images/registry-url.ts';
import { type Checker, classOf, expectSame } from '../checker.ts';

export const check: Checker = (c) =>
  expectSame(c, () => {
    switch (classOf(c)) {
      case 'url':
        return { match: registryMatches(parseSchemelessUrl(String(c.in['glob'])), parseSchemelessUrl(String(c.in['target']))) };
      case 'parse': {
        const url = parseSchemelessUrl(String(c.in['text']));
        return { ...url, ...splitHost(url) };
      }
      default:
        return lookup(String(c.in['image']), c.in['secrets'] as { name: string; type: string; data: string }[]);
    }
  });

function lookup(image: string, given: readonly { name: string; type: string; data: string }[]) {
  const secrets = given.map(({ name, type, data }) => {
    const key = type === 'kubernetes.io/dockercfg' ? '.dockercfg' : '.dockerconfigjson';
    return { namespace: 'ns', name, uid: `uid-${name}`, type, data: new Map([[key, Buffer.from(data)]]) };
  });
  const found = indexOfSecrets(secrets).lookup(image);
  return {
    found: found.length > 0,
    creds: found.map((credential) => ({
      auth: Object.fromEntries(Object.entries(credential.login).filter(([, text]) => text !== '')),
      hash: credentialHash(credential),
      secret: credential.source?.name,
    })),
  };
}
