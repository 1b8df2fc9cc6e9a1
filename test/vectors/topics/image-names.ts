import { parseImageName } from '../../../src/api/image-name.ts';
import { type Checker, expectSame } from '../checker.ts';

export const check: Checker = (c) => expectSame(c, () => parseImageName(String(c.in['image'])));
