import { LabelSelector } from '../../../src/api/label-selector.ts';
import { dnsLabelFaults, dnsSubdomainFaults, labelValueFaults, qualifiedNameFaults } from '../../../src/api/names.ts';
import {
  hugePageSize,
  isAttachableVolumeResource,
  isExtendedResource,
  isHugePageResource,
  isNativeResource,
  isOvercommitAllowed,
  isPrefixedNativeResource,
} from '../../../src/api/resource-names.ts';
import type { StringMap } from '../../../src/api/types.ts';
import { nodeLabelFaults } from '../../../src/config/node-labels.ts';
import { type Checker, classOf, expectSame, fail, pass } from '../checker.ts';

const NAME_FORMS = new Map([
  ['qualified', qualifiedNameFaults],
  ['value', labelValueFaults],
  ['dns-label', dnsLabelFaults],
  ['dns-subdomain', dnsSubdomainFaults],
]);

function resource(name: string): unknown {
  const size = hugePageSize(name);
  return {
    isAttachableVolume: isAttachableVolumeResource(name),
    isExtended: isExtendedResource(name),
    isHugePage: isHugePageResource(name),
    isNative: isNativeResource(name),
    isOvercommitAllowed: isOvercommitAllowed(name),
    isPrefixedNative: isPrefixedNativeResource(name),
    ...(size === undefined ? {} : { pageSize: Number(size) }),
  };
}

/** The texts of faults are ours; their number is compared. */
const form =
  (faultsOf: (text: string) => string[]): Checker =>
  (c) => {
    const want = ((c.out ?? {}) as { errors?: unknown[] }).errors ?? [];
    const got = faultsOf(String(c.in['text']));
    return want.length === got.length ? pass : fail(`want ${JSON.stringify(want)}, got ${JSON.stringify(got)}`);
  };

export const check: Checker = (c) => {
  const faultsOf = NAME_FORMS.get(classOf(c));
  if (faultsOf !== undefined) return form(faultsOf)(c);
  switch (classOf(c)) {
    case 'flags':
      return expectSame(c, () => {
        const [fault] = nodeLabelFaults((c.in['nodeLabels'] ?? {}) as StringMap);
        if (fault !== undefined) throw new Error(`${fault.label}: ${fault.rule}`);
        return { ok: true };
      });
    case 'selector':
      return expectSame(c, () => {
        const selector = LabelSelector.parse(String(c.in['selector']));
        return { string: selector.toString(), matches: selector.matches((c.in['labels'] ?? {}) as StringMap) };
      });
    default:
      return expectSame(c, () => resource(String(c.in['name'])));
  }
};
