import type { EnvVar } from '../../../src/api/types.ts';
import { expand, expandCommandAndArgs, expandStaticCommand, expandSubPath, lookupIn } from '../../../src/sync/env-expansion.ts';
import { type Checker, classOf, expectSame } from '../checker.ts';

const list = (value: unknown): string[] | null => (Array.isArray(value) ? value.map(String) : null);

export const check: Checker = (c) =>
  expectSame(c, () => {
    const env = (c.in['env'] ?? []) as EnvVar[];
    switch (classOf(c)) {
      case 'command': {
        const { command, args } = expandCommandAndArgs({ command: list(c.in['command']), args: list(c.in['args']) }, env);
        return { command: command ?? null, args: args ?? null };
      }
      case 'static':
        return { command: expandStaticCommand(list(c.in['command']), env) ?? null };
      case 'mount':
        return { subPath: expandSubPath(String(c.in['subPathExpr']), env) };
      default: {
        const maps = ((c.in['vars'] ?? []) as Record<string, string>[]).map((vars) => new Map(Object.entries(vars)));
        return { text: expand(String(c.in['text']), lookupIn(...maps)) };
      }
    }
  });
