import type { ContentKind } from '../content-volume.ts';
import { configMapFiles } from '../object-files.ts';
import { defaultModeOf, textField } from '../source-fields.ts';

/** The keys of a ConfigMap as files, on disk as the real kubelet's. */
export const ConfigMapKind: ContentKind = {
  name: 'kubernetes.io/configmap',
  field: 'configMap',
  inMemory: false,
  payload: (sources, { pod }, source) => configMapFiles(sources, pod, textField(source, 'name'), source, defaultModeOf(source)),
};
