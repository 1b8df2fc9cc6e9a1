/** A process that the kernel killed for want of memory. */
export interface OomKill {
  /** The whole machine ran out, not a control group. */
  isSystem: boolean;
  /** Control group of the victim. */
  group: string;
  process: string;
  pid: number;
}

/**
 * Reads the kernel's summary of an out-of-memory kill; undefined for any other text. The name of a process may hold
 * commas and equals signs of its own. Source: mm/oom_kill.c, dump_oom_summary.
 */
export function parseOomKill(text: string): OomKill | undefined {
  const found = /^oom-kill:constraint=\w+,.*?(?:,oom_memcg=(.*?)|(,global_oom)),task_memcg=(.*?),task=(.*),pid=(\d+),uid=\d+$/.exec(text);
  if (found === null) return undefined;
  const [, limited, global, group = '', process = '', pid] = found;
  return { isSystem: global !== undefined || limited === '/', group, process, pid: Number(pid) };
}
