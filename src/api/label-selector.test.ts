import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { LabelSelector, SelectorError } from './label-selector.ts';
import { dnsLabelFaults, dnsSubdomainFaults, labelValueFaults, qualifiedNameFaults } from './names.ts';
import { matchesNodeAffinity } from './node-affinity.ts';
import { toleratesTaint, untoleratedTaint } from './tolerations.ts';

const token = fc.constantFrom('app', 'in', 'notin', '(', ')', ',', '=', '!=', '!', '>', '5', ' ', 'a/b');

test('any text is read or refused, and the canonical text reads back as itself', () => {
  fc.assert(
    fc.property(
      fc.array(token).map((tokens) => tokens.join('')),
      (text) => {
        let canonical: string;
        try {
          canonical = LabelSelector.parse(text).toString();
        } catch (error) {
          assert.ok(error instanceof SelectorError, String(error));
          return;
        }
        assert.equal(LabelSelector.parse(canonical).toString(), canonical);
      },
    ),
  );
});

test('matching', () => {
  const labels = { app: 'web', n: '5' };
  for (const yes of ['', 'app', 'app=web', 'app in (x,web)', 'n>4', 'n<6', '!gone', 'gone!=x', 'constructor!=x']) {
    assert.equal(LabelSelector.parse(yes).matches(labels), true, yes);
  }
  for (const no of ['gone', 'app!=web', 'n>5', 'app>1', 'app notin (web)', 'toString']) {
    assert.equal(LabelSelector.parse(no).matches(labels), false, no);
  }
});

test('forms of names', () => {
  assert.deepEqual(dnsLabelFaults('a-1'), []);
  assert.equal(dnsLabelFaults('a.b').length, 1);
  assert.equal(dnsLabelFaults('-'.repeat(64)).length, 2);
  assert.equal(dnsSubdomainFaults('a..b').length, 1);
  assert.equal(qualifiedNameFaults('x/').length, 2);
  assert.equal(qualifiedNameFaults('a/b/c').length, 1);
  assert.deepEqual(labelValueFaults(''), []);
});

test('tolerations', () => {
  const taint = { key: 'a', value: '3', effect: 'NoExecute' };
  assert.equal(toleratesTaint({ operator: 'Exists' }, taint), true);
  assert.equal(toleratesTaint({ key: 'a', value: '3' }, taint), true);
  assert.equal(toleratesTaint({ key: 'a', operator: 'Lt', value: '5' }, taint), false);
  assert.equal(toleratesTaint({ key: 'a', operator: 'Lt', value: '5' }, taint, true), true);
  assert.equal(toleratesTaint({ key: 'a', operator: 'Lt', value: '05' }, taint, true), false);
  assert.equal(untoleratedTaint([{ key: 'z', effect: 'NoSchedule' }, taint], []), taint);
});

test('node affinity: a term that cannot be read is reported only when no other matches', () => {
  const node = { metadata: { name: 'n1', labels: { zone: 'a' } } };
  const podWith = (...nodeSelectorTerms: unknown[]) => ({
    spec: { containers: [], affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } },
  });
  const bad = { matchExpressions: [{ key: 'zone', operator: 'Weird' }] };
  const good = { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] };
  assert.deepEqual(matchesNodeAffinity(podWith(bad, good), node), { match: true, faults: [] });
  assert.deepEqual(
    matchesNodeAffinity(podWith(bad), node).faults.map((f) => f.path),
    ['nodeSelectorTerms[0].matchExpressions[0].operator'],
  );
  assert.equal(matchesNodeAffinity(podWith({}, null, 'x'), node).match, false);
});
