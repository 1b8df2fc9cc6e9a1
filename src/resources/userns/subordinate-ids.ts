import { defaultIds, type IdRange } from './id-ranges.ts';

/** The user whose subordinate ids are for pods. */
export const KubeletUser = 'kubelet';

/** What the search for ids asks the host. */
export interface SubordinateIdsHost {
  hasUser(name: string): Promise<boolean>;
  /** The path of a program; undefined when there is none of that name. */
  find(program: string): Promise<string | undefined>;
  /** Its standard output. Rejects when it fails. */
  run(path: string, args: readonly string[]): Promise<string>;
}

/**
 * The ids that pods may be given: the subordinate ids of the user `kubelet` where that user and `getsubids` exist, else
 * everything above the host's own block. A user without ids is an error: the ids may lie on a server that does not answer.
 */
export async function kubeletIds(host: SubordinateIdsHost, idsPerPod: number): Promise<IdRange> {
  if (!(await host.hasUser(KubeletUser))) return defaultIds(idsPerPod);
  const program = await host.find('getsubids');
  if (program === undefined) return defaultIds(idsPerPod);
  const ask = async (what: string, args: readonly string[]) => {
    try {
      return await host.run(program, args);
    } catch (cause) {
      const text = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`error retrieving additional ${what} for user ${JSON.stringify(KubeletUser)}: ${text}`, { cause });
    }
  };
  const [users, groups] = await Promise.all([ask('uids', [KubeletUser]), ask('gids', ['-g', KubeletUser])]);
  if (users !== groups) throw new Error(`mismatched subuids and subgids for user ${JSON.stringify(KubeletUser)}`);
  return parseSubordinateIds(users);
}

/** Reads the one line `0: kubelet 65536 2147483648` of getsubids. Throws on anything else. */
export function parseSubordinateIds(output: string): IdRange {
  const lines = output.replace(/^\n+|\n+$/g, '').split('\n');
  const [line = ''] = lines;
  if (lines.length !== 1) throw new Error(`error parsing line ${JSON.stringify(output)}: it must contain only one line`);
  const parts = line.split(/\s+/).filter((part) => part !== '');
  if (parts.length !== 4) throw new Error(`invalid line ${JSON.stringify(line)}`);
  const [first, length] = parts.slice(2).map((text) => (/^[0-9]{1,10}$/.test(text) ? Number(text) : Number.NaN));
  if (first === undefined || length === undefined || !(first < 2 ** 32) || !(length < 2 ** 32)) {
    throw new Error(`error parsing line ${JSON.stringify(line)}: the last two words must be numbers of ids`);
  }
  return { first, length };
}
