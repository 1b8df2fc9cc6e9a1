import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../api/types.ts';
import { ImageError } from '../images/image-error.ts';
import { ImageVolumes } from './image-volumes.ts';

const target = {
  sandboxConfig: { metadata: { name: 'p', uid: 'u', namespace: 'ns', attempt: 0 }, portMappings: [], labels: {}, annotations: {} },
  runtimeHandler: '',
  signal: new AbortController().signal,
};

const pod: Pod = {
  metadata: { name: 'p', namespace: 'ns', uid: 'u', annotations: { a: 'b' } },
  spec: {
    containers: [],
    volumes: [
      { name: 'tools', image: { reference: 'tools:1', pullPolicy: 'Always' } },
      { name: 'model', image: { reference: 'model:1' } },
      { name: 'lost', image: { reference: 'lost:1' } },
      { name: 'disk', emptyDir: {} },
      { name: 'odd', image: {} },
    ],
  },
};

const container = (...names: string[]) => ({ name: 'c', volumeMounts: names.map((name) => ({ name, mountPath: `/${name}` })) });

/** A manager that has all images but lost:1. */
function bed() {
  const asked: unknown[] = [];
  const volumes = new ImageVolumes(
    {
      ensureImage: async ({ container: wanted, fieldPath }) => {
        asked.push([wanted, fieldPath]);
        if (wanted.image === 'lost:1') throw new ImageError('ErrImagePull', 'lost:1', 'no such image');
        return { imageRef: `sha256:${wanted.image}` };
      },
    },
    pod,
  );
  return { asked, volumes };
}

describe('ImageVolumes', () => {
  it('asks for the images that the container mounts, with their own pull policy, as things of the pod', async () => {
    const { asked, volumes } = bed();
    const images = await volumes.of(container('tools', 'disk', 'tools'), { ...target, runtimeHandler: 'h' });
    const spec = { image: 'sha256:tools:1', userSpecifiedImage: 'tools:1', annotations: { a: 'b' }, runtimeHandler: 'h' };
    assert.deepEqual([...images], [['tools', spec]]);
    assert.deepEqual(asked, [[{ image: 'tools:1', imagePullPolicy: 'Always' }, undefined]]);
  });

  it('asks once for what several containers mount, and tells a failure to each of them', async () => {
    const { asked, volumes } = bed();
    await volumes.of(container('model'), target);
    await volumes.of(container('model', 'tools'), target);
    for (const _ of [1, 2])
      await assert.rejects(volumes.of(container('model', 'lost'), target), { code: 'ErrImagePull', message: 'no such image' });
    assert.equal(asked.length, 3);
  });

  it('leaves alone what no container mounts, and hands on an empty reference for the manager to refuse', async () => {
    const { asked, volumes } = bed();
    assert.equal((await volumes.of(container('disk'), target)).size, 0);
    assert.equal((await volumes.of({ name: 'c' }, target)).size, 0);
    await volumes.of(container('odd'), target);
    assert.deepEqual(asked, [[{ image: '' }, undefined]]);
  });
});
