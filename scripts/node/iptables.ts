import { run } from './run.ts';

/** The chains that the portmap plugin makes once for all networks and never removes. */
const SHARED_CHAIN = /^CNI-(HOSTPORT-|[A-Z-]*MASQ)/;

/** Names of the nat chains that exist now. Empty where iptables is missing. */
export async function cniChains(): Promise<string[]> {
  return chainNames((await run('iptables-save', ['-t', 'nat'])).stdout).filter((c) => c.startsWith('CNI-'));
}

/** True when the nat table can be read, so that port mappings can work. */
export async function iptablesWork(): Promise<boolean> {
  return (await run('iptables', ['-w', '5', '-t', 'nat', '-S'])).code === 0;
}

function chainNames(saved: string): string[] {
  return saved
    .split('\n')
    .filter((l) => l.startsWith(':'))
    .map((l) => l.slice(1).split(' ')[0] ?? '');
}

/** The rules (as `-A …` lines) that the CNI plugins made for `network`: they carry its name in their comment. */
export function rulesOf(saved: string, network: string): string[] {
  return saved.split('\n').filter((l) => l.startsWith('-A ') && l.includes(`name: \\"${network}\\"`));
}

/**
 * Input for `iptables-restore --noflush` that removes what the plugins made for `network`: its rules, the chains they
 * jump to, and those of the shared chains that `ownChains` names, as long as no other network uses them. Empty when
 * there is nothing to do. `saved` is the text of `iptables-save -t nat`.
 */
export function cleanUpScript(saved: string, network: string, ownChains: readonly string[]): string {
  const chains = new Set(chainNames(saved));
  const all = saved.split('\n').filter((l) => l.startsWith('-A '));
  const mine = new Set(rulesOf(saved, network));
  const target = (rule: string) => / -[jg] (\S+)/.exec(rule)?.[1];
  const privateChains = new Set<string>();
  for (const rule of mine) {
    const t = target(rule);
    if (t !== undefined && chains.has(t) && t.startsWith('CNI-') && !SHARED_CHAIN.test(t)) privateChains.add(t);
  }
  const inUse = all.some((r) => r.includes('name: \\"') && !mine.has(r));
  const shared = inUse ? [] : ownChains.filter((c) => chains.has(c) && SHARED_CHAIN.test(c));
  const dropped = new Set([...privateChains, ...shared]);
  const lines: string[] = [];
  for (const rule of all) {
    const chain = rule.split(' ')[1] ?? '';
    const t = target(rule);
    if (dropped.has(chain)) continue; // flushed below
    if (mine.has(rule) || (t !== undefined && dropped.has(t))) lines.push(rule.replace(/^-A /, '-D '));
  }
  for (const c of dropped) lines.push(`-F ${c}`);
  for (const c of dropped) lines.push(`-X ${c}`);
  return lines.length === 0 ? '' : `*nat\n${lines.join('\n')}\nCOMMIT\n`;
}

/** Applies `cleanUpScript` to the host. */
export async function cleanUpIptables(network: string, ownChains: readonly string[]): Promise<void> {
  const saved = await run('iptables-save', ['-t', 'nat']);
  if (saved.code !== 0) return;
  const script = cleanUpScript(saved.stdout, network, ownChains);
  if (script !== '') await run('iptables-restore', ['-w', '5', '--noflush'], { input: script });
}

/** Rules of `network` and chains of `ownChains` that are still there and should not be. */
export async function iptablesLeft(network: string, ownChains: readonly string[]): Promise<string[]> {
  const saved = await run('iptables-save', ['-t', 'nat']);
  if (saved.code !== 0) return [];
  const rules = rulesOf(saved.stdout, network);
  const inUse = saved.stdout.split('\n').some((r) => r.startsWith('-A ') && r.includes('name: \\"') && !rules.includes(r));
  const chains = inUse ? [] : chainNames(saved.stdout).filter((c) => ownChains.includes(c));
  return [...rules.map((r) => `iptables rule ${r}`), ...chains.map((c) => `iptables chain ${c}`)];
}
