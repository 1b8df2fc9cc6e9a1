import { readFile } from 'node:fs/promises';

const ESTABLISHED = '01';

/**
 * How many connections of an IPv4 address a server of this machine has taken on `port` and holds, as the kernel tells. What a
 * client sees is more: it takes a connection for made while the kernel, its queue full, has forgotten it on the other side.
 */
export async function heldConnections(port: number, peer: string): Promise<number> {
  const tables = await Promise.all(['/proc/net/tcp', '/proc/net/tcp6'].map((path) => readFile(path, 'utf8').catch(() => '')));
  return tables.reduce((sum, table) => sum + heldIn(table, port, peer), 0);
}

/** The same, of the text of one table. A connection that nobody has accepted yet has no inode. */
export function heldIn(table: string, port: number, peer: string): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const remote = Buffer.from(peer.split('.').map(Number).reverse()).toString('hex').toUpperCase();
  return table.split('\n').filter((line) => {
    const [, from = '', to = '', state, , , , , , inode] = line.trim().split(/\s+/);
    return from.endsWith(local) && (to.split(':')[0] ?? '').endsWith(remote) && state === ESTABLISHED && inode !== '0';
  }).length;
}
