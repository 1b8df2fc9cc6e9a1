/** What an event is about. `fieldPath` is `spec.containers{name}` and its like for a container. */
export interface EventObject {
  kind: 'Pod' | 'Node' | 'PersistentVolumeClaim';
  namespace: string;
  name: string;
  uid: string;
  fieldPath?: string;
}

/** Metadata of an event for programs that read it. */
export type EventAnnotations = Readonly<Record<string, string>>;

/** Takes Kubernetes events (contract: events.md). Without an API server they end in the log and the pod's timeline. */
export interface EventRecorder {
  event(object: EventObject, type: 'Normal' | 'Warning', reason: string, message: string, annotations?: EventAnnotations): void;
}
