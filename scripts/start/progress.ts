/** Tells the steps of a script: what goes on, and for long ones that it still does. */
export interface Progress {
  /** One finished fact. */
  line(text: string): void;
  /** Runs `work` as a step: its title at once, its seconds while it lasts and at its end. */
  step<T>(title: string, work: () => Promise<T>): Promise<T>;
}

/** On a terminal the line of a step counts its seconds; elsewhere a line is written every five of them. */
export function progress(output: NodeJS.WriteStream): Progress {
  const terminal = output.isTTY;
  /** The unfinished line of the step under way, empty when there is none. */
  let open = '';
  return {
    line: (text) => void output.write(open === '' ? `${text}\n` : `\r\x1b[K${text}\n${open}`),
    async step(title, work) {
      const began = performance.now();
      const seconds = (digits: number) => ((performance.now() - began) / 1000).toFixed(digits);
      const show = (text: string) => {
        open = text;
        output.write(`\r${text}`);
      };
      if (terminal) show(`• ${title} …`);
      else output.write(`• ${title}\n`);
      const timer = setInterval(
        () => (terminal ? show(`• ${title} … ${seconds(0)} s`) : output.write(`  … ${title}: ${seconds(0)} s\n`)),
        terminal ? 1_000 : 5_000,
      );
      let mark = '✗';
      try {
        const result = await work();
        mark = '✓';
        return result;
      } finally {
        clearInterval(timer);
        open = '';
        if (terminal) output.write(`\r\x1b[K${mark} ${title}, ${seconds(1)} s\n`);
        else if (mark === '✗' || performance.now() - began > 1_000) output.write(`${mark} ${title}, ${seconds(1)} s\n`);
      }
    },
  };
}
