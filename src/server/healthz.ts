import type { Handler } from './http.ts';
import { sendText } from './http.ts';

/** A named check: undefined when it passes, else why not (the reason goes to the log only). */
export interface HealthCheck {
  name: string;
  check(): string | undefined;
}

/**
 * `/healthz` and `/healthz/{check}` with `verbose` and `exclude` (contract: http-api §9).
 */
export function healthzHandler(
  checks: readonly HealthCheck[],
  failed: (name: string, reason: string) => void,
  observe: (name: string, healthy: boolean) => void = () => {},
): Handler {
  const result = ({ name, check }: HealthCheck) => {
    const reason = check();
    observe(name, reason === undefined);
    return reason;
  };
  return (_req, res, url) => {
    const one = /^\/healthz\/([^/]+)\/?$/.exec(url.pathname)?.[1];
    if (one !== undefined) {
      const check = checks.find((c) => c.name === one);
      if (check === undefined) return sendText(res, 404, '404 page not found\n');
      const reason = result(check);
      return reason === undefined ? sendText(res, 200, 'ok') : sendText(res, 500, `internal server error: ${reason}\n`);
    }
    if (!/^\/healthz\/?$/.test(url.pathname)) return sendText(res, 404, '404 page not found\n');
    const excluded = new Set(url.searchParams.getAll('exclude'));
    const lines: string[] = [];
    let broken = false;
    for (const check of checks) {
      const { name } = check;
      if (excluded.delete(name)) {
        lines.push(`[+]${name} excluded: ok`);
        continue;
      }
      const reason = result(check);
      if (reason === undefined) {
        lines.push(`[+]${name} ok`);
        continue;
      }
      broken = true;
      failed(name, reason);
      lines.push(`[-]${name} failed: reason withheld`);
    }
    for (const name of excluded) lines.push(`warn: some health checks cannot be excluded: no matches for "${name}"`);
    if (broken) return sendText(res, 500, `${lines.join('\n')}\nhealthz check failed\n`);
    if (!url.searchParams.has('verbose')) return sendText(res, 200, 'ok');
    return sendText(res, 200, `${lines.join('\n')}\nhealthz check passed\n`);
  };
}
