/** What the table shows of a pod. */
export interface PodRow {
  name: string;
  phase: string;
  /** All containers ready, as the pod's condition says. */
  ready: boolean;
  /** `1/2`: ready containers of all. */
  containers: string;
  restarts: number;
  ip: string;
  /** Milliseconds since the pod's start; undefined before. */
  ageMs: number | undefined;
  /** Why it is not ready, or how its last container ended. */
  message: string;
}

interface ContainerStatus {
  ready?: boolean;
  restartCount?: number;
  state?: { waiting?: { reason?: string; message?: string }; terminated?: { reason?: string; message?: string; exitCode?: number } };
  lastState?: { terminated?: { reason?: string; exitCode?: number } };
}

interface PodJson {
  metadata?: { name?: string; creationTimestamp?: string };
  spec?: { containers?: unknown[] };
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    podIP?: string;
    startTime?: string;
    conditions?: { type?: string; status?: string; reason?: string; message?: string }[];
    containerStatuses?: ContainerStatus[];
    initContainerStatuses?: ContainerStatus[];
  };
}

/** Rows from the body of `/pods`, sorted by name. `now` is wall-clock milliseconds. */
export function podRows(list: unknown, now: number): PodRow[] {
  const items = (list as { items?: PodJson[] | null }).items ?? [];
  return items.map((pod) => podRow(pod, now)).sort((a, b) => a.name.localeCompare(b.name));
}

function podRow(pod: PodJson, now: number): PodRow {
  const status = pod.status ?? {};
  const containers = status.containerStatuses ?? [];
  const all = [...(status.initContainerStatuses ?? []), ...containers];
  const began = Date.parse(status.startTime ?? pod.metadata?.creationTimestamp ?? '');
  return {
    name: pod.metadata?.name ?? '',
    phase: status.phase ?? 'Pending',
    ready: status.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') ?? false,
    containers: `${containers.filter((c) => c.ready).length}/${Math.max(containers.length, pod.spec?.containers?.length ?? 0)}`,
    restarts: all.reduce((n, c) => n + (c.restartCount ?? 0), 0),
    ip: status.podIP ?? '',
    ageMs: Number.isNaN(began) ? undefined : Math.max(0, now - began),
    message: message(status, all),
  };
}

function message(status: NonNullable<PodJson['status']>, all: readonly ContainerStatus[]): string {
  if (status.message || status.reason) return join(status.reason, status.message);
  for (const c of all) {
    const waiting = c.state?.waiting;
    if (waiting?.message || (waiting?.reason && !['ContainerCreating', 'PodInitializing'].includes(waiting.reason)))
      return join(waiting.reason, waiting.message);
  }
  for (const c of all) {
    const ended = c.state?.terminated ?? c.lastState?.terminated;
    if (ended !== undefined && ended.exitCode !== 0) return `last exit ${ended.exitCode ?? '?'}${ended.reason ? ` (${ended.reason})` : ''}`;
  }
  const waiting = all.find((c) => c.state?.waiting !== undefined)?.state?.waiting?.reason;
  return waiting ?? '';
}

function join(reason: string | undefined, text: string | undefined): string {
  return [reason, text].filter(Boolean).join(': ');
}

/** `12s`, `3m`, `2h`, `4d` as kubectl shows ages. */
export function formatAge(ms: number | undefined): string {
  if (ms === undefined) return '';
  const s = Math.floor(ms / 1000);
  if (s < 120) return `${s}s`;
  if (s < 120 * 60) return `${Math.floor(s / 60)}m`;
  return s < 48 * 3600 ? `${Math.floor(s / 3600)}h` : `${Math.floor(s / 86_400)}d`;
}

const HEADINGS = ['NAME', 'PHASE', 'READY', 'RESTARTS', 'IP', 'AGE', 'MESSAGE'];

/** The table's lines, each cut to `width` columns. */
export function renderTable(rows: readonly PodRow[], width: number): string[] {
  const cells = rows.map((r) => [
    r.name,
    r.phase,
    r.containers,
    String(r.restarts),
    r.ip,
    formatAge(r.ageMs),
    r.message.replace(/\s+/g, ' '),
  ]);
  const lines = [HEADINGS, ...cells];
  const widths = HEADINGS.map((_, i) => Math.max(...lines.map((l) => (l[i] ?? '').length)));
  return lines.map((l) =>
    l
      .map((c, i) => (i === l.length - 1 ? c : c.padEnd(widths[i] ?? 0)))
      .join('  ')
      .slice(0, width)
      .trimEnd(),
  );
}

/** One line for a change of a pod, for output that is not a terminal. */
export function describeRow(row: PodRow): string {
  return [
    row.name,
    row.phase,
    row.containers,
    row.ready ? 'ready' : 'not ready',
    row.ip,
    row.restarts > 0 ? `restarts ${row.restarts}` : '',
    row.message,
  ]
    .filter(Boolean)
    .join('  ');
}

/** What a line of the agent's log says of a manifest below `folder`: its `err`, with the file's name in place of its path. */
export function manifestError(line: string, folder: string): string {
  const quoted = / err=("(?:[^"\\]|\\.)*")/.exec(line)?.[1];
  if (quoted === undefined) return line;
  try {
    const text = String(JSON.parse(quoted));
    return text.startsWith(`${folder}/`) ? text.slice(folder.length + 1) : text;
  } catch {
    return quoted;
  }
}
