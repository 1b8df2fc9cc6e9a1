import type { Clock } from '../host/clock.ts';
import type { KubeApi } from '../kube/api.ts';
import { isKubeError } from '../kube/errors.ts';
import { createNode, getNode, patchNodeStatus } from '../kube/typed.ts';
import type { Node } from '../kube/types.ts';
import type { Logger } from '../observe/log.ts';
import type { Health, Service } from '../observe/service.ts';
import type { NodeNote } from './conditions.ts';
import { type NodeIdentity, newNode, reconciledNode } from './node-object.ts';
import { nodePatch } from './node-patch.ts';
import type { NodeFacts } from './status.ts';

/** Contract node.md §1: 100 ms, doubling, at most 7 s, for ever. */
const FirstRetryMs = 100;
const MaxRetryMs = 7_000;
/** A server that takes a request and never answers is one that failed. */
const RequestTimeoutMs = 30_000;

export interface RegistrationDeps {
  api: KubeApi;
  identity: NodeIdentity;
  clock: Clock;
  log: Logger;
  /** Resolves once the runtime has been looked at, so that the first status is no guess. */
  observed(signal: AbortSignal): Promise<void>;
  facts(signal: AbortSignal): Promise<NodeFacts>;
  /** The Node as the API server answered, and what is to be told of it. */
  registered(node: Node, notes: readonly NodeNote[]): void;
  /** registerNode: false leaves the object to others. */
  enabled: boolean;
  /** Feature gate KubeletRegistrationGetOnExistsOnly: a node that may not be created is not looked for. */
  getOnExistsOnly: boolean;
  /** The devices that an existing node's extended resources stand for are not known (contract node.md §1). */
  zeroExtended?(): boolean;
}

/** Creates the Node, or brings an existing one in line, until it has worked once. */
export class Registration implements Service {
  readonly name = 'node-registration';
  readonly #deps: RegistrationDeps;
  readonly #done = Promise.withResolvers<void>();
  #loop: Promise<void> = Promise.resolve();
  #fault = 'the node is not registered yet';
  #isDone = false;

  constructor(deps: RegistrationDeps) {
    this.#deps = deps;
  }

  start(signal: AbortSignal): void {
    if (this.#deps.enabled) this.#loop = this.#run(signal);
    else this.#finish();
  }

  /** The node is registered, or is not ours to register. */
  get done(): boolean {
    return this.#isDone;
  }

  ready(): Promise<void> {
    return this.#done.promise;
  }

  health(): Health {
    return this.#isDone ? { ok: true } : { ok: false, reason: this.#fault };
  }

  async stop(): Promise<void> {
    await this.#loop;
  }

  #finish(): void {
    this.#isDone = true;
    this.#done.resolve();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, log, identity, observed } = this.#deps;
    await observed(signal);
    for (let delay = FirstRetryMs; !signal.aborted; delay = Math.min(delay * 2, MaxRetryMs)) {
      try {
        await this.#register(signal);
        log.info('Successfully registered node', { node: identity.name });
        this.#finish();
        return;
      } catch (err) {
        if (signal.aborted) return;
        this.#fault = `the node is not registered: ${err instanceof Error ? err.message : String(err)}`;
        log.error(err, 'Unable to register node with API server, will retry', { node: identity.name, delayMilliseconds: delay });
      }
      await clock.sleep(delay, signal).catch(() => undefined);
    }
  }

  async #register(signal: AbortSignal): Promise<void> {
    const { api, identity, log, facts, registered, getOnExistsOnly } = this.#deps;
    const options = { signal, timeoutMs: RequestTimeoutMs };
    const now = await facts(signal);
    log.info('Attempting to register node', { node: identity.name });
    const { node, notes } = newNode(identity, now);
    try {
      registered(await createNode(api, node, options), notes);
      return;
    } catch (err) {
      // Who may not create nodes may still have one.
      if (!isKubeError(err, 'AlreadyExists') && !(isKubeError(err, 'Forbidden') && !getOnExistsOnly)) throw err;
    }
    const existing = await getNode(api, identity.name, options);
    log.info('Node was previously registered', { node: identity.name });
    const reconciled = reconciledNode(existing, identity, now, this.#deps.zeroExtended?.() ?? false);
    const patch = nodePatch(existing, reconciled.node);
    const answer = patch === undefined ? existing : await patchNodeStatus(api, identity.name, patch, options);
    registered(answer, reconciled.notes);
  }
}
