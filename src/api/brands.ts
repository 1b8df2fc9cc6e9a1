declare const brand: unique symbol;
type Brand<T, B extends string> = T & { readonly [brand]: B };

/** The UID of a pod (for a static pod: its hash). */
export type PodUid = Brand<string, 'PodUid'>;
/** A container id as the runtime gives it, without the `runtime://` prefix. */
export type ContainerId = Brand<string, 'ContainerId'>;
/** A pod sandbox id as the runtime gives it. */
export type SandboxId = Brand<string, 'SandboxId'>;
/** A number of bytes. */
export type Bytes = Brand<number, 'Bytes'>;
/** Thousandths of a CPU. */
export type Millicpu = Brand<number, 'Millicpu'>;

export const podUid = (s: string) => s as PodUid;
export const containerId = (s: string) => s as ContainerId;
export const sandboxId = (s: string) => s as SandboxId;
export const bytes = (n: number) => n as Bytes;
export const millicpu = (n: number) => n as Millicpu;
