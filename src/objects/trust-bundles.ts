import { matchesRequirement, type Requirement, type SelectorOperator } from '../api/label-selector.ts';
import type { StringMap } from '../api/types.ts';
import type { Clock } from '../host/clock.ts';
import type { Random } from '../host/random.ts';
import { within } from '../host/within.ts';
import type { KubeApi } from '../kube/api.ts';
import { isKubeError } from '../kube/errors.ts';
import { Reflector } from '../kube/reflector.ts';
import { listTrustBundles, TrustBundleVersions, trustBundleTarget } from '../kube/typed.ts';
import type { ClusterTrustBundle } from '../kube/types.ts';
import type { Logger } from '../observe/log.ts';

const SyncWaitMs = 1_000;
const RequestMs = 30_000;

/** The bundles of a projected source: one by its name, or all of a signer whose labels match. */
export type TrustBundleQuery = { name: string } | { signerName: string; labelSelector: LabelSelectorObject | undefined };

/** A label selector as the API has it; undefined selects nothing, an empty one everything. */
export interface LabelSelectorObject {
  matchLabels?: StringMap;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

export interface TrustBundlesDeps {
  api: KubeApi;
  clock: Clock;
  random: Random;
  log: Logger;
}

/**
 * Trust anchors of the cluster's ClusterTrustBundles, as text of PEM certificates. Watched from the first pod on that wants one,
 * in the newest version of the API that the server has.
 */
export class TrustBundles {
  readonly #deps: TrustBundlesDeps;
  readonly #stop = new AbortController();
  #opening: Promise<Reflector<ClusterTrustBundle>> | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(deps: TrustBundlesDeps) {
    this.#deps = deps;
  }

  /** Each certificate once, in a stable order. Undefined when nothing matches. Rejects while bundles are not known. */
  async anchors(query: TrustBundleQuery): Promise<string | undefined> {
    const reflector = await this.#watch();
    if (!reflector.synced && !(await within(this.#deps.clock, reflector.whenSynced(), SyncWaitMs))) {
      throw new Error('ClusterTrustBundle informer has not yet synced');
    }
    const all = [...reflector.objects.values()];
    const chosen =
      'name' in query ? all.filter(({ metadata }) => metadata.name === query.name) : all.filter((bundle) => isOfSigner(bundle, query));
    return chosen.length === 0 ? undefined : normalized(chosen.map(({ spec }) => spec.trustBundle));
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  #watch(): Promise<Reflector<ClusterTrustBundle>> {
    this.#opening ??= this.#open().catch((err: unknown) => {
      // The server may have it at the next try.
      this.#opening = undefined;
      throw err;
    });
    return this.#opening;
  }

  async #open(): Promise<Reflector<ClusterTrustBundle>> {
    const { api } = this.#deps;
    for (const version of TrustBundleVersions) {
      try {
        await listTrustBundles(api, version, { timeoutMs: RequestMs });
      } catch (err) {
        if (isKubeError(err, 'NotFound')) continue;
        throw err;
      }
      const reflector = new Reflector<ClusterTrustBundle>({ ...trustBundleTarget(version), ...this.#deps });
      this.#running = reflector.run(this.#stop.signal);
      return reflector;
    }
    throw new Error('the API server has no ClusterTrustBundles: clusterTrustBundle projected volumes cannot be shown');
  }
}

function isOfSigner(
  { metadata, spec }: ClusterTrustBundle,
  { signerName, labelSelector }: Exclude<TrustBundleQuery, { name: string }>,
): boolean {
  if (spec.signerName !== signerName || labelSelector === undefined) return false;
  return requirementsOf(labelSelector).every((requirement) => matchesRequirement(requirement, metadata.labels ?? {}));
}

const Operators: ReadonlyMap<string, SelectorOperator> = new Map([
  ['In', 'in'],
  ['NotIn', 'notin'],
  ['Exists', 'exists'],
  ['DoesNotExist', '!'],
]);

function requirementsOf({ matchLabels = {}, matchExpressions = [] }: LabelSelectorObject): Requirement[] {
  const labels = Object.entries(matchLabels).map(([key, value]): Requirement => ({ key, operator: '=', values: [value] }));
  return [
    ...labels,
    ...matchExpressions.map(({ key, operator, values = [] }): Requirement => {
      const known = Operators.get(operator);
      if (known === undefined)
        throw new Error(`while parsing label selector: ${JSON.stringify(operator)} is not a valid label selector operator`);
      return { key, operator: known, values };
    }),
  ];
}

const Certificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Sorted, so that the file changes only when the certificates do. */
function normalized(bundles: readonly string[]): string {
  const blocks = bundles.flatMap((text) => text.match(Certificate) ?? []).map((block) => block.replaceAll('\r', '').trim());
  return [...new Set(blocks)]
    .sort()
    .map((block) => `${block}\n`)
    .join('');
}
