import type { ServiceDefinition } from '@grpc/proto-loader';
import { enumNames, loadProtocol, serviceOf } from '../proto/load.ts';

/** The two services of CRI v1 and what reading them needs. Loading takes about 30 ms: once per process. */
export interface CriProtocol {
  runtime: ServiceDefinition;
  images: ServiceDefinition;
  /** Names of the enum Signal by number. */
  signals: ReadonlyMap<number, string>;
}

export function loadCriProtocol(): CriProtocol {
  const protocol = loadProtocol('cri/v1/api');
  return {
    runtime: serviceOf(protocol, 'runtime.v1.RuntimeService'),
    images: serviceOf(protocol, 'runtime.v1.ImageService'),
    signals: enumNames(protocol, 'runtime.v1.Signal'),
  };
}
