import { Background } from '../host/background.ts';
import type { EventObject, EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import { type OomKill, parseOomKill } from './oom-kill.ts';

/** The container that a control group belongs to. */
export interface GroupOwner {
  namespace: string;
  pod: string;
  container: string;
  object: EventObject;
}

export interface OomWatcherDeps {
  /** What the kernel logs from now on; throws where it may not be read. */
  kernelLog(signal: AbortSignal): AsyncIterable<string>;
  events: EventRecorder;
  node: EventObject;
  log: Logger;
  /** Undefined for groups that are no container of this node. */
  ownerOf(group: string): GroupOwner | undefined;
  metrics: {
    /** kts_system_oom_kills_total. */
    systemOom(): void;
    /** kts_container_oom_kills_total. */
    containerOom(owner: Pick<GroupOwner, 'namespace' | 'pod' | 'container'>): void;
  };
}

/**
 * Tells when the kernel kills a process for want of memory: of the machine (SystemOOM), or of a container, whose main
 * process may live on while a child is gone. A kernel log that may not be read is told once; nothing else depends on it.
 */
export class OomWatcher extends Background {
  override readonly name = 'oom-watcher';
  readonly #deps: OomWatcherDeps;

  constructor(deps: OomWatcherDeps) {
    super();
    this.#deps = deps;
  }

  protected override async run(signal: AbortSignal): Promise<void> {
    const { kernelLog, log } = this.#deps;
    try {
      for await (const text of kernelLog(signal)) {
        const kill = parseOomKill(text);
        if (kill !== undefined) this.#tell(kill);
      }
    } catch (err) {
      if (signal.aborted) return;
      const cause = err instanceof Error ? err.message : String(err);
      log.warn('The kernel log cannot be read: nobody is told of processes that the kernel kills for want of memory', { cause });
    }
  }

  #tell({ isSystem, group, process, pid }: OomKill): void {
    const { events, node, ownerOf, metrics, log } = this.#deps;
    if (isSystem) {
      metrics.systemOom();
      events.event(node, 'Warning', 'SystemOOM', `System OOM encountered, victim process: ${process}, pid: ${pid}`);
    }
    const owner = ownerOf(group);
    log.debug(2, 'The kernel killed a process for want of memory', { process, pid, group, system: isSystem });
    if (owner === undefined) return;
    metrics.containerOom(owner);
    const whose = isSystem ? 'the node was' : 'it was';
    const message = `Container ${owner.container}: ${whose} out of memory, the kernel killed process ${process} (pid ${pid})`;
    events.event(owner.object, 'Warning', 'OOMKilling', message);
  }
}
