import { renameSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';

/** A process that swaps a directory and links, as fast as it can, until it is killed: `link-swapper.ts PATH TARGET...` */
const [path = '', ...targets] = process.argv.slice(2);
const aside = `${path}.aside`;

/** Whoever is attacked may make a directory of that name meanwhile: it goes. */
function insist(step: () => void): void {
  for (;;) {
    try {
      step();
      return;
    } catch {
      try {
        rmSync(path, { recursive: true, force: true });
      } catch {
        // It is being filled: again.
      }
    }
  }
}

process.stdout.write('swapping\n');
for (let turn = 0; ; turn++) {
  renameSync(path, aside);
  insist(() => symlinkSync(targets[turn % targets.length] ?? '', path));
  unlinkSync(path);
  insist(() => renameSync(aside, path));
}
