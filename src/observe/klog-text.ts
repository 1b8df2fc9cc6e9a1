import type { LogValues } from './log.ts';
import { isSecretKey, redacted } from './redact.ts';

export type Severity = 'I' | 'W' | 'E';

const two = (n: number): string => (n < 10 ? `0${n}` : String(n));

/** `I1130 09:12:13.123456   4242 file.ts:17] `. `nowMs` is wall-clock milliseconds with a fraction; local time. */
export function klogHeader(severity: Severity, nowMs: number, pid: number, file: string, line: number): string {
  const date = new Date(nowMs);
  const micros = Math.floor((nowMs % 1000) * 1000);
  const day = `${two(date.getMonth() + 1)}${two(date.getDate())}`;
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(micros).padStart(6, '0')}`;
  return `${severity}${day} ${time} ${String(pid).padStart(7)} ${file}:${line}] `;
}

/** A Kubernetes object by name, as klog's KObj. */
export function objectRef(value: object): string | undefined {
  if (!('name' in value) || typeof value.name !== 'string') return undefined;
  const keys = Object.keys(value).length;
  if (keys === 1) return value.name;
  if (keys === 2 && 'namespace' in value && typeof value.namespace === 'string') {
    return value.namespace === '' ? value.name : `${value.namespace}/${value.name}`;
  }
  return undefined;
}

/** An error's message with those of its causes that add something. */
export function errorText(err: unknown): string {
  if (!(err instanceof Error)) return typeof err === 'string' ? err : toJson(err);
  let text = err.message === '' ? err.name : err.message;
  let cause: unknown = err.cause;
  for (let depth = 0; depth < 5 && cause instanceof Error; depth++) {
    if (cause.message !== '' && !text.includes(cause.message)) text += `: ${cause.message}`;
    cause = cause.cause;
  }
  return text;
}

/** JSON with secrets left out; what has no JSON form is described. Never throws. */
export function toJson(value: unknown): string {
  const ancestors: unknown[] = [];
  try {
    return (
      JSON.stringify(value, function (this: unknown, key: string, v: unknown) {
        if (key !== '' && isSecretKey(key)) return redacted;
        if (typeof v === 'bigint') return Number.isSafeInteger(Number(v)) ? Number(v) : v.toString();
        if (v instanceof Error) return errorText(v);
        if (v instanceof Map) return Object.fromEntries(v);
        if (v instanceof Set) return [...v];
        if (typeof v === 'object' && v !== null) {
          while (ancestors.length > 0 && ancestors.at(-1) !== this) ancestors.pop();
          if (ancestors.includes(v)) return '(circular)';
          ancestors.push(v);
        }
        return v;
      }) ?? 'null'
    );
  } catch {
    return '"(no JSON form)"';
  }
}

function quote(text: string): string {
  return JSON.stringify(text);
}

/** A text with line breaks is printed on lines of its own, as klog does. */
function quoteLines(text: string): string {
  if (!text.includes('\n')) return quote(text);
  const lines = text.endsWith('\n') ? text.slice(0, -1) : text;
  return `<\n\t${lines.replaceAll('\n', '\n\t')}\n >`;
}

function formatValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return quoteLines(value);
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value);
    case 'undefined':
      return '<nil>';
    case 'object': {
      if (value === null) return '<nil>';
      if (value instanceof Error) return quoteLines(errorText(value));
      if (value instanceof Date) return quote(value.toISOString());
      const ref = objectRef(value);
      return ref === undefined ? toJson(value) : quote(ref);
    }
    default:
      return quote(String(value));
  }
}

/** `"message" err="..." key="value" n=5`; of a key that stands in several `values` the last one counts. */
export function klogBody(msg: string, err: unknown, values: readonly LogValues[]): string {
  let text = quote(msg);
  const merged = values.length === 1 ? values[0] : Object.assign({}, ...values);
  if (err !== undefined) text += ` err=${formatValue(err instanceof Error ? err : errorText(err))}`;
  for (const key in merged) {
    if (err !== undefined && key === 'err') continue;
    text += ` ${key}=${isSecretKey(key) ? quote(redacted) : formatValue((merged as Record<string, unknown>)[key])}`;
  }
  return text;
}
