import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { applyDefaultImageTag, defaultPullPolicy, ImageNameError, parseImageName } from './image-name.ts';

const hex = '0123456789abcdef'.repeat(4);

test('what is read reads the same again in its full form', () => {
  const part = fc.stringMatching(/^[a-z0-9]{1,6}([._-][a-z0-9]{1,4})?$/);
  const tag = fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,8}$/);
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), fc.option(tag), (parts, t) => {
      const name = parseImageName(parts.join('/') + (t === null ? '' : `:${t}`));
      assert.equal(name.tag, t ?? 'latest');
      assert.deepEqual(parseImageName(`${name.repo}:${name.tag}`), name);
    }),
  );
});

test('any text is read or refused with ImageNameError', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', 'B', '0', '/', ':', '@', '.', '_', '-', 'é', '[') }), (t) => {
      try {
        parseImageName(t);
      } catch (error) {
        assert.ok(error instanceof ImageNameError);
      }
    }),
  );
});

test('hostile lengths cost linear time', () => {
  for (const t of ['a-'.repeat(200_000), 'a.'.repeat(200_000), `a${'-'.repeat(200_000)}!`, 'a/'.repeat(100_000)]) {
    assert.throws(() => parseImageName(t), ImageNameError);
  }
});

test('the default tag is added to what has neither tag nor digest', () => {
  assert.equal(applyDefaultImageTag('busybox'), 'busybox:latest');
  assert.equal(applyDefaultImageTag('busybox:1'), 'busybox:1');
  assert.equal(applyDefaultImageTag(`busybox@sha256:${hex}`), `busybox@sha256:${hex}`);
  assert.throws(() => applyDefaultImageTag('Busybox'), ImageNameError);
});

test('the default pull policy goes by the tag', () => {
  assert.equal(defaultPullPolicy('busybox'), 'Always');
  assert.equal(defaultPullPolicy('busybox:latest'), 'Always');
  assert.equal(defaultPullPolicy('busybox:1'), 'IfNotPresent');
  assert.equal(defaultPullPolicy(`busybox@sha256:${hex}`), 'IfNotPresent');
  assert.equal(defaultPullPolicy('no such name!'), 'IfNotPresent');
});
