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
  return {
    line: (text) => void output.write(`${text}\n`),
    async step(title, work) {
      const began = performance.now();
      const seconds = (digits: number) => ((performance.now() - began) / 1000).toFixed(digits);
      output.write(terminal ? `• ${title} …` : `• ${title}\n`);
      const timer = setInterval(
        () => output.write(terminal ? `\r• ${title} … ${seconds(0)} s` : `  … ${title}: ${seconds(0)} s\n`),
        terminal ? 1_000 : 5_000,
      );
      let mark = '✗';
      try {
        const result = await work();
        mark = '✓';
        return result;
      } finally {
        clearInterval(timer);
        if (terminal) output.write(`\r\x1b[K${mark} ${title}, ${seconds(1)} s\n`);
        else if (mark === '✗' || performance.now() - began > 1_000) output.write(`${mark} ${title}, ${seconds(1)} s\n`);
      }
    },
  };
}
