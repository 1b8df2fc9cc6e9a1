import type { FieldType } from './field-types.ts';
import { fieldByPath, fields } from './fields.ts';
import { cloneJson, getPath, isObject, type JsonObject, newObject, setPath } from './json-object.ts';
import { plainScalar } from './plain-scalar.ts';
import type { KubeletConfiguration } from './types.ts';

const mask = '<masked>';

/** A copy in which secret values are replaced. */
export function maskConfig(config: KubeletConfiguration): JsonObject {
  const copy = cloneJson(config as unknown as JsonObject);
  for (const field of fields) {
    const value = field.masked === true ? getPath(copy, field.path) : undefined;
    if (!isObject(value)) continue;
    const masked = newObject();
    for (const key of Object.keys(value)) masked[key] = [mask];
    setPath(copy, field.path, masked);
  }
  return copy;
}

function scalar(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value) ?? 'null';
  const plain = /^[\w./][\w./<>%+-]*(?:[:@][\w./%+-]+)*$/.test(value) && plainScalar(value) === value;
  return plain ? value : JSON.stringify(value);
}

type OriginOf = (path: string) => string;

class Printer {
  readonly lines: string[] = [];
  readonly #originOf: OriginOf | undefined;

  constructor(originOf: OriginOf | undefined) {
    this.#originOf = originOf;
  }

  object(object: JsonObject, path: string, indent: string, inMap: boolean): void {
    for (const [key, value] of Object.entries(object)) {
      const at = inMap ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
      this.#entry(`${indent}${scalar(key)}:`, value, at, indent);
    }
  }

  #entry(head: string, value: unknown, path: string, indent: string): void {
    const type: FieldType | undefined = fieldByPath.get(path)?.type;
    if (Array.isArray(value) && value.length > 0) {
      this.#line(head, path);
      for (const [i, item] of value.entries()) this.#item(item, `${path}[${i}]`, indent);
    } else if (isObject(value) && Object.keys(value).length > 0) {
      this.lines.push(head);
      this.object(value, path, `${indent}  `, type?.t === 'map' || path.endsWith('.limits'));
    } else this.#line(`${head} ${scalar(value)}`, path);
  }

  /** An item of a list; of an object the first entry stands behind the dash. */
  #item(item: unknown, path: string, indent: string): void {
    if (!isObject(item)) {
      this.lines.push(`${indent}- ${scalar(item)}`);
      return;
    }
    const before = this.lines.length;
    const silent = new Printer(undefined);
    silent.object(item, path, `${indent}  `, false);
    this.lines.push(...silent.lines);
    this.lines[before] = `${indent}- ${(this.lines[before] ?? '').slice(indent.length + 2)}`;
  }

  #line(text: string, path: string): void {
    const fixed = path === 'apiVersion' || path === 'kind';
    this.lines.push(this.#originOf === undefined || fixed ? text : `${text.padEnd(52)} # ${this.#originOf(path)}`);
  }
}

/** The configuration as YAML that can be read back, secrets masked; with `originOf`, each value's origin as a comment. */
export function configYaml(config: KubeletConfiguration, originOf?: OriginOf): string {
  const printer = new Printer(originOf);
  printer.object(maskConfig(config), '', '', false);
  return `${printer.lines.join('\n')}\n`;
}
