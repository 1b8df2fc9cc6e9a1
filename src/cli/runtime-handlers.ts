import { posix } from 'node:path';
import type { Pod } from '../api/types.ts';
import type { ResolvedConfig } from '../config/resolve.ts';
import { HandlerFeatures } from '../cri/handler-features.ts';
import type { RuntimeHandler, RuntimeStatus } from '../cri/types.ts';
import { nodeFiles } from '../host/files-node.ts';
import { findProgram, hasUser, outputOf } from '../host/programs.ts';
import type { Logger } from '../observe/log.ts';
import { rangeFault, UnitLength } from '../resources/userns/id-ranges.ts';
import { kubeletIds, type SubordinateIdsHost } from '../resources/userns/subordinate-ids.ts';
import { UserNamespaces } from '../resources/userns/user-namespaces.ts';
import type { RuntimeHandlers } from '../sync/specs.ts';

export interface HandlersInput {
  config: ResolvedConfig;
  rootDir: string;
  log: Logger;
  /** What the runtime said of itself last. */
  status(): RuntimeStatus | undefined;
  /** Undefined on a node without an API server. */
  objects: { runtimeClasses: RuntimeHandlers } | undefined;
}

/** What pods get by the handler of the runtime that their RuntimeClass names. */
export interface NodeHandlers {
  runtimeHandlers: RuntimeHandlers;
  /** Undefined while the feature gate is off. */
  userNamespaces: UserNamespaces | undefined;
  recursiveReadOnly(pod: Pod): Promise<boolean>;
  /** The same from what is known already. */
  knownRecursiveReadOnly(pod: Pod): boolean;
}

const host: SubordinateIdsHost = { hasUser, find: (program) => findProgram(program), run: outputOf };

export async function nodeHandlers({ config, rootDir, log, status, objects }: HandlersInput): Promise<NodeHandlers> {
  const handlers = () => status()?.runtimeHandlers ?? [];
  const runtimeHandlers = objects?.runtimeClasses ?? { handlerOf: noRuntimeClasses };
  const features = new HandlerFeatures({
    handlers,
    handlerOf: (name) => runtimeHandlers.handlerOf(name),
    recursiveReadOnlyMounts: config.gates.enabled('RecursiveReadOnlyMounts'),
  });
  return {
    runtimeHandlers,
    userNamespaces: await openUserNamespaces(config, rootDir, log, handlers),
    recursiveReadOnly: (pod) => features.recursiveReadOnly(pod),
    knownRecursiveReadOnly: (pod) => features.knownRecursiveReadOnly(pod),
  };
}

/** User namespaces of pods; undefined when their feature gate is off. Rejects when the host's ids do not do for maxPods pods. */
async function openUserNamespaces(
  config: ResolvedConfig,
  rootDir: string,
  log: Logger,
  handlers: () => readonly RuntimeHandler[],
): Promise<UserNamespaces | undefined> {
  if (!config.gates.enabled('UserNamespacesSupport')) return undefined;
  const idsPerPod = config.userNamespaces?.idsPerPod ?? UnitLength;
  const ids = await kubeletIds(host, idsPerPod);
  const fault = rangeFault(ids, idsPerPod, config.maxPods);
  if (fault !== undefined) {
    throw new Error(`the ids for user namespaces of pods cannot be used: ${fault}; see "getsubids kubelet" and userNamespaces.idsPerPod`);
  }
  log.debug(5, 'User namespace manager mapping', { firstID: ids.first, length: ids.length, idsPerPod });
  const namespaces = new UserNamespaces({ files: nodeFiles, log, podsDir: posix.join(rootDir, 'pods'), ids, idsPerPod, handlers });
  await namespaces.open();
  return namespaces;
}

/** RuntimeClasses live in the API server. */
async function noRuntimeClasses(name: string | undefined): Promise<string> {
  if (name === undefined || name === '') return '';
  throw new Error(`runtimeClassName ${JSON.stringify(name)}: a node without an API server knows no RuntimeClass`);
}
