import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';

/** What `npm run test:attacks` reads of a test's output: a line with this mark and an AttackCount as JSON. */
export const ATTACK_MARK = '##attack ';

/** How an attack went. */
export interface AttackCount {
  name: string;
  /** How often it was tried. */
  tries: number;
  /** How often the attacker got what it must not get. */
  escapes: number;
  /** How the tries ended, by the words that the test gave. */
  outcomes: Record<string, number>;
}

/** One run of an attack: the test counts on it. */
export interface Bout {
  /** How often to try. */
  readonly tries: number;
  readonly t: TestContext;
  /** One try is over and was harmless: `outcome` says how it ended, e.g. `refused`. */
  harmless(outcome: string): void;
  /** One try is over, and the attacker has won: `what` it got. */
  escape(what: string): void;
  /** The outcomes so far. */
  count(outcome: string): number;
}

export interface AttackOptions {
  /** Tries in `npm run test:attacks`. */
  tries: number;
  /** Tries in `npm test`, where the full number takes long. Default: the full number. */
  shortTries?: number;
  /** Why it cannot be run here; false when it can. */
  skip?: string | false;
}

/** True in `npm run test:attacks`. */
export const isFullCount = process.env['KTS_ATTACKS'] === 'full';

/**
 * A test that attacks the agent many times. It fails when one try is an escape, and when none was made. `run` counts each
 * try with `harmless` or `escape`; what else it asserts fails the test as ever.
 */
export function attack(name: string, options: AttackOptions, run: (bout: Bout) => Promise<void>): void {
  const { tries, shortTries = tries, skip = false } = options;
  test(name, { skip }, async (t) => {
    const outcomes = new Map<string, number>();
    const escapes: string[] = [];
    const bout: Bout = {
      tries: isFullCount ? tries : shortTries,
      t,
      harmless: (outcome) => void outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1),
      escape: (what) => void escapes.push(what),
      count: (outcome) => outcomes.get(outcome) ?? 0,
    };
    let failed = false;
    try {
      await run(bout);
    } catch (err) {
      failed = true;
      throw err;
    } finally {
      const made = escapes.length + [...outcomes.values()].reduce((sum, n) => sum + n, 0);
      const count: AttackCount = { name, tries: made, escapes: escapes.length, outcomes: Object.fromEntries(outcomes) };
      t.diagnostic(`${ATTACK_MARK}${JSON.stringify(count)}`);
      assert.deepEqual(escapes.slice(0, 5), [], `${escapes.length} of ${made} tries got through`);
      // What broke off the attack is told as it is.
      assert.ok(made > 0 || failed, 'no try was made');
    }
  });
}
