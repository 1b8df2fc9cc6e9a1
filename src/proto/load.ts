import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fromJSON, loadSync, type Options, type PackageDefinition, type ServiceDefinition } from '@grpc/proto-loader';

/** The build may put protocols (protobufjs' JSON form, by name) here instead of shipping the .proto files. */
declare const KTS_PROTOCOLS: Readonly<Record<string, object>> | undefined;

/**
 * How messages are decoded everywhere: camelCase names, every field present (null for an absent message), enums as
 * numbers (an unknown one survives), 64-bit integers as {low, high} pairs, which are cheaper to convert than text.
 */
const options: Options = { keepCase: false, defaults: true };

/**
 * The protocol `name` (a path below `proto/` without `.proto`, e.g. `cri/v1/api`). Takes about 30 ms of the event
 * loop: call it once, at start. Throws when the file is missing or does not parse.
 */
export function loadProtocol(name: string): PackageDefinition {
  const inlined = typeof KTS_PROTOCOLS === 'undefined' ? undefined : KTS_PROTOCOLS[name];
  return inlined ? fromJSON(inlined, options) : loadSync(protocolFile(name), options);
}

/** `proto/NAME.proto` beside the bundle, or in one of the two folders above this file (dist/chunks, src/proto). */
function protocolFile(name: string): string {
  for (const up of ['.', '..', '../..']) {
    const path = join(import.meta.dirname, up, 'proto', `${name}.proto`);
    if (existsSync(path)) return path;
  }
  throw new Error(`the protocol file proto/${name}.proto is missing from this installation`);
}

/** The methods of `service` (full name, e.g. `runtime.v1.RuntimeService`). Throws when there is none. */
export function serviceOf(protocol: PackageDefinition, service: string): ServiceDefinition {
  const found = protocol[service];
  if (found === undefined || 'format' in found) throw new Error(`no service ${service} in the protocol`);
  return found;
}

/** Number to name of the enum `name` (full name). Throws when there is none. */
export function enumNames(protocol: PackageDefinition, name: string): ReadonlyMap<number, string> {
  const found = protocol[name];
  const names = new Map<number, string>();
  if (found !== undefined && 'format' in found && 'value' in found.type && Array.isArray(found.type.value)) {
    for (const value of found.type.value as { name: string; number: number }[]) names.set(value.number, value.name);
  }
  if (names.size === 0) throw new Error(`no enum ${name} in the protocol`);
  return names;
}
