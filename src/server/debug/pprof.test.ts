import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { encodeProfile } from './pprof-encoder.ts';
import { cpuProfile, heapProfile } from './v8-profile.ts';

/** The fields of a protobuf message: numbers as bigint, the rest as bytes. */
function fields(data: Buffer): [number, bigint | Buffer][] {
  const found: [number, bigint | Buffer][] = [];
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = data[at++] ?? assert.fail('the message ends too early');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < data.length) {
    const key = Number(varint());
    const value = varint();
    if ((key & 7) === 0) found.push([key >>> 3, value]);
    else {
      found.push([key >>> 3, data.subarray(at, at + Number(value))]);
      at += Number(value);
    }
  }
  return found;
}

const frame = (callFrame: string, lineNumber = 0) => ({
  functionName: callFrame,
  scriptId: '1',
  url: 'file:///app/a.js',
  lineNumber,
  columnNumber: 0,
});

const v8 = {
  nodes: [
    { id: 1, callFrame: frame('(root)'), children: [2, 4] },
    { id: 2, callFrame: frame('outer', 9), children: [3] },
    { id: 3, callFrame: frame('', 19) },
    { id: 4, callFrame: frame('(idle)') },
  ],
  startTime: 0,
  endTime: 50_000,
  samples: [3, 3, 4, 2],
  timeDeltas: [10_000, 11_000, 9_000, 8_000],
};

test('a CPU profile: stacks with the innermost frame first, idle time left out', () => {
  const profile = cpuProfile(v8, 10_000, 5);
  assert.deepEqual(
    [...profile.samples].map(({ stack, values }) => [stack.map((f) => `${f.functionName}:${f.line}`), values]),
    [
      [
        ['(anonymous):20', 'outer:10'],
        [2, 21_000_000],
      ],
      [['outer:10'], [1, 8_000_000]],
    ],
  );
  assert.equal(profile.durationMs, 50);
});

test('a heap profile: bytes and samples of each stack', () => {
  const leaf = { callFrame: frame('leaf'), selfSize: 300, children: [], id: 3 };
  const head = {
    callFrame: frame('(root)'),
    selfSize: 0,
    id: 1,
    children: [{ callFrame: frame('top'), selfSize: 0, id: 2, children: [leaf] }],
  };
  const samples = [
    { size: 100, nodeId: 3 },
    { size: 200, nodeId: 3 },
  ];
  const profile = heapProfile({ head, samples }, 1024, 5, 'heap');
  assert.deepEqual(
    [...profile.samples].map(({ stack, values }) => [stack.map((f) => f.functionName), values]),
    [
      [
        ['leaf', 'top'],
        [2, 300],
      ],
    ],
  );
  assert.equal(profile.defaultType, 'inuse_space');
});

test('what is written can be read: every location, function and string is there', () => {
  const name = fc.string({ maxLength: 8 });
  const frames = fc.record({ functionName: name, file: name, line: fc.nat(1_000_000) });
  const sample = fc.record({ stack: fc.array(frames, { minLength: 1, maxLength: 5 }), values: fc.tuple(fc.nat(), fc.maxSafeNat()) });
  fc.assert(
    fc.property(fc.array(sample, { maxLength: 20 }), (samples) => {
      const types = [
        { type: 'samples', unit: 'count' },
        { type: 'cpu', unit: 'nanoseconds' },
      ];
      const all = fields(
        encodeProfile({
          types,
          samples,
          timeMs: 1,
          durationMs: 2,
          periodType: { type: 'cpu', unit: 'nanoseconds' },
          period: 3,
          defaultType: 'cpu',
        }),
      );
      const of = (field: number) => all.filter(([f]) => f === field).map(([, value]) => value);
      const messages = (field: number) => of(field).map((m) => fields(m as Buffer));
      const number = (message: [number, bigint | Buffer][], field: number) => Number(message.find(([f]) => f === field)?.[1] ?? 0n);
      const strings = of(6).map(String);
      assert.equal(strings[0], '');
      const functions = new Map(messages(5).map((m) => [number(m, 1), { name: strings[number(m, 2)], file: strings[number(m, 4)] }]));
      const locations = new Map(
        messages(4).map((m) => {
          const line = fields(m.find(([f]) => f === 4)?.[1] as Buffer);
          return [number(m, 1), { ...functions.get(number(line, 1)), line: number(line, 2) }];
        }),
      );
      const packed = (data: bigint | Buffer | undefined) => {
        const numbers: number[] = [];
        for (let rest = data as Buffer; rest.length > 0; ) {
          const end = rest.findIndex((b) => b < 0x80);
          numbers.push(Number(rest.subarray(0, end + 1).reduceRight((value, b) => (value << 7n) | BigInt(b & 0x7f), 0n)));
          rest = rest.subarray(end + 1);
        }
        return numbers;
      };
      const read = messages(2).map((m) => ({
        stack: packed(m.find(([f]) => f === 1)?.[1]).map((id) => locations.get(id)),
        values: packed(m.find(([f]) => f === 2)?.[1]),
      }));
      assert.deepEqual(
        read,
        samples.map(({ stack, values }) => ({ stack: stack.map((f) => ({ name: f.functionName, file: f.file, line: f.line })), values })),
      );
      assert.deepEqual(
        messages(1).map((m) => strings[number(m, 1)]),
        ['samples', 'cpu'],
      );
    }),
  );
});
