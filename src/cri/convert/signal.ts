import { CriError } from '../errors.ts';

/**
 * Kubernetes' name of a signal (`SIGRTMIN+1`) from the protocol's (`SIGNAL_SIGRTMINPLUS1`); undefined for the
 * runtime's default and for a number that the protocol does not name.
 */
export function readSignal(number: number, names: ReadonlyMap<number, string>): string | undefined {
  if (number === 0) return undefined;
  return names.get(number)?.slice('SIGNAL_'.length).replace('PLUS', '+').replace('MINUS', '-');
}

/** The protocol's name of a signal. Throws CriError `InvalidArgument` for a name that it does not have. */
export function writeSignal(name: string, names: ReadonlyMap<number, string>): string {
  const wire = `SIGNAL_${name.replace('+', 'PLUS').replace('-', 'MINUS')}`;
  for (const known of names.values()) if (known === wire) return wire;
  throw new CriError('InvalidArgument', 'CreateContainer', `unknown stop signal "${name}"`);
}
