import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backoffKeyText } from '../compat/backoff-key.ts';
import { containerLogFile, containerLogLink, containerLogsDirectory, podLogsDirectory } from './log-paths.ts';

const pod = { name: 'web', namespace: 'ns', uid: 'u1' };

test('log paths', () => {
  assert.equal(podLogsDirectory('/var/log/pods/', pod), '/var/log/pods/ns_web_u1');
  assert.equal(containerLogsDirectory('/var/log/pods', pod, 'c'), '/var/log/pods/ns_web_u1/c');
  assert.equal(containerLogFile('c', 3), 'c/3.log');
  assert.equal(containerLogLink('/var/log/containers', pod, 'c', 'abc'), '/var/log/containers/web_ns_c-abc.log');
});

test('a link name is cut to 255 bytes and keeps its suffix', () => {
  const link = containerLogLink('/d', { ...pod, name: 'x'.repeat(300) }, 'c', 'id');
  assert.equal(link.length, '/d/'.length + 255);
  assert.ok(link.endsWith('x.log'));
});

test('the back-off text holds claims, and the resources in order of name', () => {
  const resources = { requests: { memory: '64Mi', cpu: '1' }, claims: [{ name: 'a', request: 'b' }] };
  const text = backoffKeyText({ metadata: pod }, { name: 'c', image: 'i', resources });
  assert.equal(
    text,
    'web/ns/u1/c/i/&ResourceRequirements{Limits:ResourceList{},Requests:ResourceList{cpu: {{1 0} {<nil>} 1 DecimalSI},memory: {{67108864 0} {<nil>}  BinarySI},},Claims:[]ResourceClaim{ResourceClaim{Name:a,Request:b,},},}',
  );
});
