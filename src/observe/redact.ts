const secretKey =
  /(?:token|passwd|password|passphrase|bearer|authorization|cookie|privatekey|private_key|clientsecret|apikey|api_key|credential|dockerconfigjson)s?$/i;
/** `secret` names a Secret object; these hold what is in it. */
const secretData = /^(?:secretdata|secretvalue|stringdata|env|body)$/i;

export const redacted = '--- REDACTED ---';

/** True for a key whose value must not reach the log. */
export function isSecretKey(key: string): boolean {
  return secretKey.test(key) || secretData.test(key);
}
