import type { ContentKind } from '../content-volume.ts';
import { downwardFiles } from '../object-files.ts';
import { defaultModeOf } from '../source-fields.ts';

/** Fields of the pod itself as files. */
export const DownwardApiKind: ContentKind = {
  name: 'kubernetes.io/downward-api',
  field: 'downwardAPI',
  inMemory: true,
  payload: (sources, { pod }, source) => downwardFiles(sources, pod, source, defaultModeOf(source)),
};
