import { parentPort } from 'node:worker_threads';
import { readManifest } from './parse-pod.ts';
import type { ManifestOrigin } from './static-pod.ts';

/** One large manifest for the parsing thread; the answer is a `Manifest`. */
export interface ParseJob {
  data: Uint8Array;
  origin: ManifestOrigin;
}

parentPort?.on('message', ({ data, origin }: ParseJob) => {
  parentPort?.postMessage(readManifest(data, origin));
});
