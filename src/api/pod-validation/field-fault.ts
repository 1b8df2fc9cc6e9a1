/** What is wrong with one field of an object. */
export interface FieldFault {
  /** As Kubernetes prints it, e.g. `spec.containers[0].name`. */
  field: string;
  problem: string;
  remedy?: string;
}
