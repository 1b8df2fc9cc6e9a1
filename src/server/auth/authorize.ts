import type { Clock } from '../../host/clock.ts';
import type { Attributes } from './attributes.ts';
import { withDeadline } from './authenticate.ts';
import { TtlCache } from './ttl-cache.ts';
import type { User } from './user.ts';

/** One question of access: what SubjectAccessReview is asked. */
export interface AccessQuestion {
  user: User;
  verb: string;
  nodeName: string;
  subresource: string;
}

/** Asks whether a user may. Rejects when the question cannot be answered. */
export interface AccessReviewer {
  allowed(question: AccessQuestion, signal: AbortSignal): Promise<boolean>;
}

export type Decision = { kind: 'allowed' } | { kind: 'denied' } | { kind: 'failed'; subresource: string; error: unknown };

export type Authorizer = (user: User, attributes: Attributes) => Promise<Decision>;

export const alwaysAllow: Authorizer = async () => ({ kind: 'allowed' });

export interface WebhookAuthorizerDeps {
  reviewer: AccessReviewer;
  nodeName: string;
  authorizedTtlMs: number;
  unauthorizedTtlMs: number;
  clock: Clock;
}

const REVIEW_TIMEOUT_MS = 10_000;
const CACHED_ANSWERS = 4_096;

/** By review, with caches. The subresources are tried in order and the first that is allowed decides. */
export function webhookAuthorizer({ reviewer, nodeName, authorizedTtlMs, unauthorizedTtlMs, clock }: WebhookAuthorizerDeps): Authorizer {
  const known = new TtlCache<boolean>(clock, CACHED_ANSWERS);
  const asking = new Map<string, Promise<boolean>>();
  const ask = async (key: string, question: AccessQuestion): Promise<boolean> => {
    try {
      const answer = await withDeadline(clock, REVIEW_TIMEOUT_MS, (signal) => reviewer.allowed(question, signal));
      known.set(key, answer, answer ? authorizedTtlMs : unauthorizedTtlMs);
      return answer;
    } finally {
      asking.delete(key);
    }
  };
  return async (user, { verb, subresources }) => {
    for (const subresource of subresources) {
      const key = JSON.stringify([user.name, user.uid ?? '', user.groups, user.extra ?? {}, verb, subresource]);
      let answer = known.get(key);
      if (answer === undefined) {
        let pending = asking.get(key);
        if (pending === undefined) {
          pending = ask(key, { user, verb, nodeName, subresource });
          asking.set(key, pending);
        }
        try {
          answer = await pending;
        } catch (error) {
          return { kind: 'failed', subresource, error };
        }
      }
      if (answer) return { kind: 'allowed' };
    }
    return { kind: 'denied' };
  };
}
