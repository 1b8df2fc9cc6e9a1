import type { Container } from '../../../src/api/types.ts';
import { containerHash, containerHashedText, containerHashHex, containerHashJson } from '../../../src/compat/container-hash.ts';
import { type Checker, expectSame } from '../checker.ts';

export const check: Checker = (c) =>
  expectSame(c, () => {
    const container = c.in['container'] as Container;
    return {
      hash: String(containerHash(container)),
      hex: containerHashHex(container),
      json: containerHashJson(container),
      hashedText: containerHashedText(container),
    };
  });
