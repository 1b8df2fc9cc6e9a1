import { type Int64, toBigInt, toNumber, toUnsigned } from '../../proto/int64.ts';
import type * as t from '../types.ts';
import { type Int64Value, unwrapUnsigned } from './scalars.ts';

export interface WireImageSpec {
  image: string;
  annotations: Record<string, string>;
  userSpecifiedImage: string;
  runtimeHandler: string;
  imageRef: string;
}

export interface WireImage {
  id: string;
  repoTags: string[];
  repoDigests: string[];
  size: Int64;
  uid: Int64Value;
  username: string;
  spec: WireImageSpec | null;
  pinned: boolean;
}

export interface WireFilesystemUsage {
  timestamp: Int64;
  fsId: { mountpoint: string } | null;
  usedBytes: Int64Value;
  inodesUsed: Int64Value;
}

export function readImageSpec(wire: WireImageSpec | null): t.ImageSpec {
  if (!wire) return { image: '' };
  const spec: t.ImageSpec = { image: wire.image };
  for (const _ in wire.annotations) {
    spec.annotations = wire.annotations;
    break;
  }
  if (wire.userSpecifiedImage !== '') spec.userSpecifiedImage = wire.userSpecifiedImage;
  if (wire.runtimeHandler !== '') spec.runtimeHandler = wire.runtimeHandler;
  if (wire.imageRef !== '') spec.imageRef = wire.imageRef;
  return spec;
}

export function readImage(wire: WireImage): t.Image {
  const image: t.Image = {
    id: wire.id,
    repoTags: wire.repoTags,
    repoDigests: wire.repoDigests,
    size: toUnsigned(wire.size),
    username: wire.username,
    pinned: wire.pinned,
  };
  if (wire.uid) image.uid = toNumber(wire.uid.value);
  if (wire.spec) image.spec = readImageSpec(wire.spec);
  return image;
}

export function readFilesystemUsage(wire: WireFilesystemUsage): t.FilesystemUsage {
  return {
    timestamp: toBigInt(wire.timestamp),
    mountpoint: wire.fsId?.mountpoint ?? '',
    usedBytes: unwrapUnsigned(wire.usedBytes) ?? 0,
    inodesUsed: unwrapUnsigned(wire.inodesUsed) ?? 0,
  };
}
