import type { ResolvedConfig } from '../config/resolve.ts';
import type { KubeletFlags } from '../config/types.ts';
import type { ConnectedRuntime } from '../cri/connect.ts';
import type { Image } from '../cri/types.ts';
import { systemClock } from '../host/clock.ts';
import { nodeFiles } from '../host/files-node.ts';
import { runProgram } from '../host/run-program.ts';
import { verificationPolicy } from '../images/image-access.ts';
import { ImageManager } from '../images/image-manager.ts';
import { imageSizeBucket } from '../images/image-metrics.ts';
import { NodeKeyring } from '../images/keyring-node.ts';
import { PodKeyring, type RepositoryKeyring } from '../images/keyring-pod.ts';
import { openProviders } from '../images/open-providers.ts';
import { PullLedger } from '../images/pull-ledger.ts';
import { PullRecordFiles } from '../images/pull-record-files.ts';
import type { ClusterObjects } from '../objects/cluster-objects.ts';
import type { AgentMetrics } from '../observe/agent-metrics.ts';
import type { EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';

export interface ImagesInput {
  flags: KubeletFlags;
  config: ResolvedConfig;
  runtime: Pick<ConnectedRuntime, 'images'>;
  /** Undefined on a node without an API server. */
  objects: ClusterObjects | undefined;
  events: EventRecorder;
  metrics: AgentMetrics;
  log: Logger;
}

export interface NodeImages {
  manager: ImageManager;
  /** An image was removed. */
  removed(id: string): void;
  /** What the runtime has. */
  listed(images: readonly Image[]): void;
}

/** What pulls images, and knows who may use them. Rejects when a flag is wrong or the directories cannot be made. */
export async function nodeImages(input: ImagesInput): Promise<NodeImages> {
  const { flags, config, runtime, objects, events, metrics, log } = input;
  const clock = systemClock;
  const own = new NodeKeyring({
    files: nodeFiles,
    clock,
    log,
    rootDir: flags.rootDir,
    workingDir: process.cwd(),
    homeDir: process.env['HOME'] ?? '',
  });
  const keyring = new PodKeyring(
    async (pod) => (await objects?.pullSecrets(pod)) ?? { secrets: [], missing: [] },
    own,
    ...(await plugins(input)),
  );
  const ledger = await openLedger(input);
  const manager = new ImageManager({
    images: runtime.images,
    keyring,
    clock,
    events,
    metrics: {
      pulled: (seconds, size) => metrics.imagePulled(seconds, imageSizeBucket(size)),
      ensured: (policy, present, required) => metrics.ensured(policy, present, required),
    },
    limits: {
      serial: config.serializeImagePulls,
      maxParallel: config.maxParallelImagePulls,
      qps: config.registryPullQPS,
      burst: config.registryBurst,
    },
    verifyCredentials: ledger !== undefined,
    ...(ledger === undefined ? {} : { ledger }),
  });
  return {
    manager,
    removed: (id) => {
      manager.forget(id);
      void ledger?.forget(id);
    },
    listed: (images) => void ledger?.listed(images),
  };
}

async function plugins({ flags, config, objects, metrics, log }: ImagesInput): Promise<RepositoryKeyring[]> {
  const { imageCredentialProviderConfig, imageCredentialProviderBinDir: binDir } = flags;
  if (imageCredentialProviderConfig === '' || binDir === '') return [];
  const keyring = await openProviders({
    config: imageCredentialProviderConfig,
    binDir,
    tokensEnabled: config.gates.enabled('KubeletServiceAccountTokenForCredentialProviders'),
    accounts: objects && {
      serviceAccount: (namespace, name) => objects.serviceAccount(namespace, name),
      token: (pod, uid, audience) => objects.tokenOfAccount(pod, uid, audience),
    },
    files: nodeFiles,
    env: process.env,
    run: runProgram,
    clock: systemClock,
    log,
    metrics,
  });
  return [keyring];
}

async function openLedger({ flags, config, runtime, metrics, log }: ImagesInput): Promise<PullLedger | undefined> {
  if (!config.gates.enabled('KubeletEnsureSecretPulledImages')) return undefined;
  const ledger = new PullLedger({
    files: new PullRecordFiles(nodeFiles, flags.rootDir),
    images: runtime.images,
    policy: verificationPolicy(config.imagePullCredentialsVerificationPolicy, config.preloadedImagesVerificationAllowlist),
    clock: systemClock,
    log,
    metrics,
  });
  await ledger.open();
  return ledger;
}
