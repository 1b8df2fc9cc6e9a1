import { parentPort } from 'node:worker_threads';
import type { Answer, Question } from './file-threads.ts';
import { type FileOperations, fileOperations } from './operations.ts';

/** The thread's side: one question after another. */
parentPort?.on('message', ({ operation, args }: Question) => {
  parentPort?.postMessage(answer(operation, args));
});

function answer(operation: keyof FileOperations, args: readonly unknown[]): Answer {
  try {
    return { ok: true, value: (fileOperations[operation] as (...given: readonly unknown[]) => unknown)(...args) };
  } catch (err) {
    // An error loses its code on the way between threads.
    const code = err instanceof Error && 'code' in err && typeof err.code === 'string' ? err.code : undefined;
    return { ok: false, message: err instanceof Error ? err.message : String(err), ...(code === undefined ? {} : { code }) };
  }
}
