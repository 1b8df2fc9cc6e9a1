import { createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '../../host/clock.ts';
import type { Credentials } from './credentials.ts';
import { TtlCache } from './ttl-cache.ts';
import { allAuthenticated, anonymousUser, type User } from './user.ts';

/** Asks who holds a token (TokenReview). Undefined: nobody known. Rejects when the question cannot be answered. */
export interface TokenReviewer {
  review(token: string, signal: AbortSignal): Promise<User | undefined>;
}

/** One way to know a sender. `none`: it says nothing of these credentials. `bad`: they are wrong. */
export type Verdict = { kind: 'user'; user: User } | { kind: 'none' } | { kind: 'bad'; reason: string };

export type Authenticator = (credentials: Credentials, signal: AbortSignal) => Promise<Verdict>;

const none: Verdict = { kind: 'none' };

/** Client certificates: CN is the user, O are the groups (contract http-api §2). */
export const certificateAuthenticator: Authenticator = async ({ certificate }) => {
  if (certificate === undefined) return none;
  if (!certificate.valid) return { kind: 'bad', reason: 'the client certificate is not valid' };
  if (certificate.commonName === '') return { kind: 'bad', reason: 'the client certificate has no common name' };
  return { kind: 'user', user: { name: certificate.commonName, groups: certificate.organizations } };
};

export interface TokenAuthenticatorDeps {
  reviewer: TokenReviewer;
  /** Milliseconds that an answer holds. */
  cacheTtlMs: number;
  clock: Clock;
}

/** A review that takes longer has failed. */
const REVIEW_TIMEOUT_MS = 10_000;
const CACHED_TOKENS = 4_096;
/** Questions under way at a time: a flood of made-up tokens must not become a flood of reviews. */
const REVIEWS_AT_ONCE = 64;

/** Bearer tokens by review, with a cache of answers. Failures of the reviewer are not kept. */
export function tokenAuthenticator({ reviewer, cacheTtlMs, clock }: TokenAuthenticatorDeps): Authenticator {
  const known = new TtlCache<Verdict>(clock, CACHED_TOKENS);
  const asking = new Map<string, Promise<Verdict>>();
  // Tokens are not kept; a memory image does not show them.
  const secret = randomBytes(32);
  const ask = async (key: string, token: string): Promise<Verdict> => {
    try {
      const user = await withDeadline(clock, REVIEW_TIMEOUT_MS, (signal) => reviewer.review(token, signal));
      const verdict: Verdict = user === undefined ? { kind: 'bad', reason: 'the token is not known' } : { kind: 'user', user };
      known.set(key, verdict, cacheTtlMs);
      return verdict;
    } catch (err) {
      return { kind: 'bad', reason: `the token could not be reviewed: ${err instanceof Error ? err.message : String(err)}` };
    } finally {
      asking.delete(key);
    }
  };
  return async ({ token }) => {
    if (token === undefined) return none;
    const key = createHmac('sha256', secret).update(token).digest('base64');
    const cached = known.get(key);
    if (cached !== undefined) return cached;
    let answer = asking.get(key);
    if (answer === undefined) {
      if (asking.size >= REVIEWS_AT_ONCE) return { kind: 'bad', reason: 'too many token reviews under way' };
      answer = ask(key, token);
      asking.set(key, answer);
    }
    return answer;
  };
}

export interface AuthenticationOptions {
  authenticators: readonly Authenticator[];
  anonymous: boolean;
}

/**
 * The first that knows the sender decides. Wrong credentials are never taken for none: with them even an anonymous
 * sender is refused. A `bad` result with an empty reason means that there were no credentials.
 */
export async function authenticate(
  { authenticators, anonymous }: AuthenticationOptions,
  credentials: Credentials,
  signal: AbortSignal,
): Promise<Exclude<Verdict, { kind: 'none' }>> {
  const reasons: string[] = [];
  for (const authenticator of authenticators) {
    const verdict = await authenticator(credentials, signal);
    if (verdict.kind === 'user') {
      const { user } = verdict;
      const groups = user.groups.includes(allAuthenticated) ? user.groups : [...user.groups, allAuthenticated];
      return { kind: 'user', user: { ...user, groups } };
    }
    if (verdict.kind === 'bad') reasons.push(verdict.reason);
  }
  if (reasons.length === 0 && anonymous) return { kind: 'user', user: anonymousUser };
  return { kind: 'bad', reason: reasons.join('; ') };
}

/** Ends `work` after `ms`, also when it does not listen to its signal. */
export async function withDeadline<T>(clock: Clock, ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  const late = Promise.withResolvers<never>();
  const timer = clock.after(ms, () => {
    const err = new Error(`no answer within ${ms / 1000} s`);
    abort.abort(err);
    late.reject(err);
  });
  try {
    return await Promise.race([work(abort.signal), late.promise]);
  } finally {
    timer.cancel();
  }
}
