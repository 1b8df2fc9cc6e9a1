import type * as t from '../types.ts';
import { wrap } from './scalars.ts';

/** In the order of the protocol's numbers; a number that is not here reads as `POD`, the protocol's own default. */
const namespaceModes: readonly t.NamespaceMode[] = ['POD', 'CONTAINER', 'NODE', 'TARGET'];

export interface WireNamespaceOption {
  network: number;
  pid: number;
  ipc: number;
  targetId: string;
  usernsOptions: { mode: number; uids: t.IdMapping[]; gids: t.IdMapping[] } | null;
}

export function readNamespaceOption(wire: WireNamespaceOption): t.NamespaceOption {
  const option: t.NamespaceOption = {
    network: namespaceMode(wire.network),
    pid: namespaceMode(wire.pid),
    ipc: namespaceMode(wire.ipc),
  };
  if (wire.targetId !== '') option.targetId = wire.targetId;
  const userns = wire.usernsOptions;
  if (userns) option.usernsOptions = { mode: namespaceMode(userns.mode), uids: userns.uids, gids: userns.gids };
  return option;
}

function namespaceMode(number: number): t.NamespaceMode {
  return namespaceModes[number] ?? 'POD';
}

/** Enum members go out by name, so only the wrapped numbers differ from the agent's own form. */
export function writeSandboxSecurity(security: t.LinuxSandboxSecurityContext): object {
  return { ...security, runAsUser: wrap(security.runAsUser), runAsGroup: wrap(security.runAsGroup) };
}

export function writeContainerSecurity(security: t.LinuxContainerSecurityContext): object {
  return { ...security, runAsUser: wrap(security.runAsUser), runAsGroup: wrap(security.runAsGroup) };
}
