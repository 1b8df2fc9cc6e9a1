import type { ServiceForEnv } from '../../../src/objects/service-env.ts';
import { serviceVariables } from '../../../src/objects/service-env.ts';
import { type Checker, expectSame } from '../checker.ts';

export const check: Checker = (c) => expectSame(c, () => ({ env: serviceVariables((c.in['services'] ?? []) as ServiceForEnv[]) }));
