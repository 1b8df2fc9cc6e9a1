import type { ContentKind } from '../content-volume.ts';
import { secretFiles } from '../object-files.ts';
import { defaultModeOf, textField } from '../source-fields.ts';

/** The keys of a Secret as files, in memory: they never reach a disk. */
export const SecretKind: ContentKind = {
  name: 'kubernetes.io/secret',
  field: 'secret',
  inMemory: true,
  payload: (sources, { pod }, source) => secretFiles(sources, pod, textField(source, 'secretName'), source, defaultModeOf(source)),
};
