import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseDocument } from 'yaml';

/** A manifest file and the name that its pod has before the node's name is appended; undefined when it cannot be read. */
export interface ExpectedPod {
  file: string;
  name: string | undefined;
}

/** The pods that the files of a manifest folder ask for. As the agent does, files that begin with a dot are passed over. */
export async function expectedPods(folder: string): Promise<ExpectedPod[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const files = entries.filter((e) => e.isFile() && !e.name.startsWith('.')).map((e) => e.name);
  // Editors make and remove files in between.
  return Promise.all(
    files.sort().map(async (file) => ({ file, name: podName(await readFile(join(folder, file), 'utf8').catch(() => '')) })),
  );
}

function podName(text: string): string | undefined {
  try {
    const pod = parseDocument(text).toJS() as { metadata?: { name?: unknown } } | null;
    return typeof pod?.metadata?.name === 'string' ? pod.metadata.name : undefined;
  } catch {
    return undefined;
  }
}
