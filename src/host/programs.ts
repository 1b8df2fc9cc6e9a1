import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

const DeadlineMs = 30_000;
const MaxOutput = 1024 * 1024;
/** What getent says when there is no such entry. */
const NotFound = 2;

/** The path of a program by the folders of `searchPath`; undefined when none has it. */
export async function findProgram(name: string, searchPath: string | undefined = process.env['PATH']): Promise<string | undefined> {
  for (const folder of (searchPath ?? '').split(delimiter)) {
    // A relative folder would depend on where the agent was started.
    if (!folder.startsWith('/')) continue;
    const path = join(folder, name);
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  return undefined;
}

/** Runs a program of the host for at most 30 s; gives its standard output. Rejects when it fails. */
export function outputOf(path: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(path, [...args], { timeout: DeadlineMs, killSignal: 'SIGKILL', maxBuffer: MaxOutput, encoding: 'utf8' }, (err, stdout) => {
      if (err === null) resolve(stdout);
      else reject(err);
    });
  });
}

/** Whether the host knows a user, wherever it keeps its users. False where it cannot be asked. */
export async function hasUser(name: string): Promise<boolean> {
  const getent = await findProgram('getent');
  if (getent === undefined) return false;
  try {
    await outputOf(getent, ['passwd', '--', name]);
    return true;
  } catch (err) {
    if (err instanceof Error && 'code' in err && err.code === NotFound) return false;
    throw err;
  }
}
