import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fields, trimSpace } from './go-space.ts';
import { canonicalIp, ipFamily } from './ip.ts';

test('addresses as Go prints them', () => {
  const cases = {
    '10.0.0.1': '10.0.0.1',
    '010.0.0.1': '10.0.0.1',
    '2001:DB8:0:0::1': '2001:db8::1',
    '::ffff:1.2.3.4': '1.2.3.4',
    '::': '::',
  };
  for (const [from, to] of Object.entries(cases)) assert.equal(canonicalIp(from), to);
  for (const bad of ['', 'x', '1.2.3', '256.0.0.1', 'fe80::1%eth0', '1.2.3.4:5', '[::1]']) assert.equal(canonicalIp(bad), undefined, bad);
});

test('families', () => {
  assert.equal(ipFamily('::1'), 6);
  assert.equal(ipFamily('::ffff:1.2.3.4'), 4);
  assert.equal(ipFamily('bad'), undefined);
});

test('blanks as Go knows them', () => {
  assert.equal(trimSpace('\u0085 a b\t\u3000'), 'a b');
  assert.equal(trimSpace('\ufeffa'), '\ufeffa');
  assert.deepEqual(fields(' a\u00a0b\r\n'), ['a', 'b']);
});
