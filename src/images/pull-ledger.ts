import { applyDefaultImageTag, ImageNameError } from '../api/image-name.ts';
import { timeFromMs } from '../api/time.ts';
import type { CriImages } from '../cri/ports.ts';
import type { Image } from '../cri/types.ts';
import type { Clock } from '../host/clock.ts';
import { Turns } from '../host/turns.ts';
import type { Logger } from '../observe/log.ts';
import type { Credential } from './credential-index.ts';
import { admits, proofsOf, recordAdmits, type VerificationPolicy } from './image-access.ts';
import { bareName, type PullCredentials, type PulledRecord, provenBy, withProof } from './pull-record.ts';
import type { PullRecordFiles } from './pull-record-files.ts';

/** Label values of kubelet_imagemanager_image_mustpull_checks_total. */
export type AccessCheck = 'credentialPolicyAllowed' | 'credentialRecordFound' | 'mustAuthenticate' | 'error';

export interface LedgerMetrics {
  accessChecked(result: AccessCheck): void;
  /** kubelet_imagemanager_ondisk_pullintents and _pulledrecords. */
  recorded(intents: number, records: number): void;
}

export interface PullLedgerDeps {
  files: PullRecordFiles;
  images: Pick<CriImages, 'imageStatus'>;
  policy: VerificationPolicy;
  clock: Pick<Clock, 'now'>;
  log: Logger;
  metrics: LedgerMetrics;
}

/**
 * Knows which images this node pulled and with what, so that a pod does not get an image that it could not have pulled
 * itself (contract: pod-lifecycle.md §6). What is on disk outlives the agent: an intent that is left over means that an
 * image may have come that nobody has a record of.
 */
export class PullLedger {
  readonly #deps: PullLedgerDeps;
  readonly #turns = new Turns();
  /** Pulls under way, by image. */
  readonly #pulling = new Map<string, number>();
  /** Images with an intent on disk that no pull under way stands for. */
  readonly #leftOver = new Set<string>();

  constructor(deps: PullLedgerDeps) {
    this.#deps = deps;
  }

  /** Once, before the first pull. Rejects when the directories cannot be made. */
  async open(): Promise<void> {
    const { files, log } = this.#deps;
    await files.prepare();
    for (const image of await files.intents(this.#refused)) this.#leftOver.add(image);
    try {
      await this.#settleLeftOvers(false);
    } catch (err) {
      log.error(err, 'Cannot settle the image pulls that another run of the agent began');
    }
    await this.#count();
  }

  /** A pull of this image begins. Rejects when that cannot be written down: it must not begin then. */
  async begin(image: string): Promise<void> {
    await this.#turns.run(`intent ${image}`, async () => {
      await this.#deps.files.writeIntent(image);
      this.#pulling.set(image, (this.#pulling.get(image) ?? 0) + 1);
    });
    await this.#count();
  }

  /** It ended well. Never rejects. */
  async succeeded(image: string, imageRef: string, credential: Credential | undefined): Promise<void> {
    const isRecorded = await this.#record(image, imageRef, provenBy(credential));
    await this.#end(image, isRecorded);
  }

  /** It ended without an image. Never rejects. A leftover stays one: its image may be there all the same. */
  async failed(image: string): Promise<void> {
    await this.#end(image, !this.#leftOver.has(image));
  }

  /** Whether a pod may use this present image without pulling it. `credentials` is asked only when it must be. Never rejects. */
  async mayUse(image: string, imageRef: string, credentials: () => Promise<readonly Credential[]>): Promise<boolean> {
    let result: AccessCheck = 'error';
    try {
      result = await this.#check(image, imageRef, credentials);
    } catch (err) {
      this.#deps.log.error(err, 'Cannot tell whether the pod may use the image, it must be pulled', { image, imageRef });
    }
    this.#deps.metrics.accessChecked(result);
    return result === 'credentialPolicyAllowed' || result === 'credentialRecordFound';
  }

  /** An image was removed: its record goes, unless the image has come back meanwhile. Never rejects. */
  async forget(imageRef: string): Promise<void> {
    const { files, images, log } = this.#deps;
    try {
      await this.#turns.run(`record ${imageRef}`, async () => {
        if ((await images.imageStatus({ image: imageRef })) === undefined) await files.removeRecord(imageRef);
      });
      await this.#count();
    } catch (err) {
      log.error(err, 'Cannot remove the record of an image', { imageRef });
    }
  }

  /** All images of the runtime: records of others go. Never rejects. */
  async listed(images: readonly Image[]): Promise<void> {
    const { files, log } = this.#deps;
    try {
      await this.#settleLeftOvers(true);
      const there = new Set(images.flatMap(({ id, repoTags, repoDigests }) => [id, ...repoTags, ...repoDigests]));
      for (const { imageRef } of await files.records(this.#refused)) if (!there.has(imageRef)) await this.forget(imageRef);
      await this.#count();
    } catch (err) {
      log.error(err, 'Cannot compare the records of image pulls with the images');
    }
  }

  async #check(image: string, imageRef: string, credentials: () => Promise<readonly Credential[]>): Promise<AccessCheck> {
    const { files, policy } = this.#deps;
    if (!policy(image, true)) return 'credentialPolicyAllowed';
    // Looked at before the record: a pull that ends in between has written that by then.
    const isPulling = this.#pulling.has(image) || this.#leftOver.has(image);
    const record = await files.record(imageRef);
    if (!policy(image, isPulling || record !== undefined)) return 'credentialPolicyAllowed';
    const admitted = recordAdmits(record, image);
    if (admitted === 'everybody') return 'credentialRecordFound';
    if (admitted === 'nobody' || record === undefined) return 'mustAuthenticate';
    const { allowed, learnt } = admits(record, image, proofsOf(await credentials()));
    if (learnt !== undefined) await this.#record(image, imageRef, { kubernetesSecrets: [learnt] });
    return allowed ? 'credentialRecordFound' : 'mustAuthenticate';
  }

  /** False when it could not be written. */
  async #record(image: string, imageRef: string, proof: PullCredentials): Promise<boolean> {
    const { files, clock, log } = this.#deps;
    try {
      await this.#turns.run(`record ${imageRef}`, async () => {
        const time = timeFromMs(clock.now());
        const known = await files.record(imageRef).catch((err: unknown) => {
          log.error(err, 'Cannot use the record of an image, writing it anew', { image, imageRef });
          return undefined;
        });
        const before: PulledRecord = known ?? { lastUpdatedTime: time, imageRef, credentialMapping: new Map() };
        const after = withProof(before, bareName(image), proof, time);
        if (after !== known) await files.writeRecord(after);
      });
      return true;
    } catch (err) {
      log.error(err, 'Cannot write the record of an image', { image, imageRef });
      return false;
    }
  }

  /** `drop`: nothing that the intent stands for is left. */
  async #end(image: string, drop: boolean): Promise<void> {
    await this.#turns.run(`intent ${image}`, async () => {
      const left = (this.#pulling.get(image) ?? 1) - 1;
      if (left > 0) this.#pulling.set(image, left);
      else {
        if (drop) await this.#dropIntent(image);
        else this.#leftOver.add(image);
        // Only now: until the file is away the pull counts as under way.
        this.#pulling.delete(image);
      }
    });
    await this.#count();
  }

  /** While its file stays the image is a leftover: whoever wants it must show that he may. To be called in the intent's turn. */
  async #dropIntent(image: string): Promise<void> {
    try {
      await this.#deps.files.removeIntent(image);
      this.#leftOver.delete(image);
    } catch (err) {
      this.#leftOver.add(image);
      this.#deps.log.error(err, 'Cannot remove the intent of an image pull', { image });
    }
  }

  /** By whom a leftover was pulled nobody knows: its record lets nobody in. `drop`: the intents of absent images go, too. */
  async #settleLeftOvers(drop: boolean): Promise<void> {
    for (const image of [...this.#leftOver]) {
      await this.#turns.run(`intent ${image}`, async () => {
        if (this.#pulling.has(image)) return;
        const found = await this.#deps.images.imageStatus({ image: withTag(image) });
        if (found === undefined ? drop : await this.#record(image, found.id, {})) await this.#dropIntent(image);
      });
    }
  }

  async #count(): Promise<void> {
    const counts = await this.#deps.files.count().catch(() => undefined);
    if (counts !== undefined) this.#deps.metrics.recorded(counts.intents, counts.records);
  }

  readonly #refused = (path: string, reason: string) => this.#deps.log.warn('Cannot use the record of an image pull', { path, reason });
}

function withTag(image: string): string {
  try {
    return applyDefaultImageTag(image);
  } catch (err) {
    if (err instanceof ImageNameError) return image;
    throw err;
  }
}
