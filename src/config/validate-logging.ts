import { formatDurationMs } from '../api/duration.ts';
import { Quantity } from '../api/quantity.ts';
import type { ResolvedConfig } from './resolve.ts';
import type { Rules } from './rules.ts';

const maxVerbosity = 0x7fffffff;

/** The section `logging`. Contract: flags-config.md §3 ("component-base rules"). */
export function validateLogging(c: ResolvedConfig, rules: Rules): void {
  const log = c.logging;
  rules.check(log.flushFrequencyMs > 0, 'logging.flushFrequency', formatDurationMs(log.flushFrequencyMs), 'must be greater than zero');
  rules.choice('logging.format', log.format, ['text', 'json']);
  if (log.format === 'json') rules.gate(c.gates.enabled('LoggingBetaOptions'), 'logging.format', 'json', 'LoggingBetaOptions');
  rules.check(log.verbosity <= maxVerbosity, 'logging.verbosity', log.verbosity, `must be at most ${maxVerbosity}`);
  rules.check(log.vmodule.length === 0 || log.format === 'text', 'logging.vmodule', undefined, 'is only for the log format text');
  for (const [i, item] of log.vmodule.entries()) {
    const field = `logging.vmodule[${i}]`;
    rules.check(item.filePattern !== '', `${field}.filePattern`, '', 'must not be empty');
    rules.check(!/[=,]/.test(item.filePattern), `${field}.filePattern`, item.filePattern, 'must hold no equal sign and no comma');
    rules.check(item.verbosity <= maxVerbosity, `${field}.verbosity`, item.verbosity, `must be at most ${maxVerbosity}`);
  }
  const alpha = c.gates.enabled('LoggingAlphaOptions');
  for (const format of ['text', 'json'] as const) {
    const options = log.options[format];
    const field = `logging.options.${format}`;
    rules.gate(alpha || options.splitStream !== true, `${field}.splitStream`, true, 'LoggingAlphaOptions');
    const buffered = Quantity.parse(options.infoBufferSize).value() !== 0n;
    rules.gate(alpha || !buffered, `${field}.infoBufferSize`, options.infoBufferSize, 'LoggingAlphaOptions');
  }
}

const perMillion = 1_000_000;
const schemes = ['dns', 'unix', 'unix-abstract'];

/** The section `tracing`. */
export function validateTracing(c: ResolvedConfig, rules: Rules): void {
  const rate = c.tracing?.samplingRatePerMillion;
  if (rate !== undefined) rules.range('tracing.samplingRatePerMillion', rate, 0, perMillion);
  const endpoint = c.tracing?.endpoint;
  if (endpoint === undefined) return;
  const fault = endpointFault(endpoint.includes('//') ? endpoint : `dns://${endpoint}`);
  rules.check(fault === undefined, 'tracing.endpoint', endpoint, fault ?? '', 'as in localhost:4317 or unix:///run/collector.sock');
}

/** What Go's URL reader would refuse, and schemes that a gRPC target cannot have. */
function endpointFault(url: string): string | undefined {
  const match = /^([a-zA-Z][-+.a-zA-Z0-9]*):(.*)$/s.exec(url);
  // Control characters are never part of a URL.
  if ([...url].some((char) => char < ' ' || char === '\u007f')) return 'has a control character';
  if (url.startsWith(':')) return 'has no scheme before the colon';
  const rest = match?.[2] ?? url;
  const authority = /^\/\/([^/?#]*)/.exec(rest)?.[1];
  if (authority !== undefined) {
    const host = authority.slice(authority.lastIndexOf('@') + 1);
    if (/[\s"<>\\^`{|}]/.test(host)) return 'has a character that no host name can have';
    if (host.startsWith('[') && !host.includes(']')) return 'has an opening [ without its ]';
    const port = /:([^\]:]*)$/.exec(host)?.[1];
    if (port !== undefined && !/^\d*$/.test(port)) return `has the port ${JSON.stringify(port)}, which is not a number`;
  }
  if (/%(?![0-9a-fA-F]{2})/.test(rest.split('?', 1)[0] ?? '')) return 'has a % without two hexadecimal digits after it';
  const scheme = match?.[1]?.toLowerCase() ?? '';
  return schemes.includes(scheme) ? undefined : `has the scheme ${JSON.stringify(scheme)}; possible are none, dns, unix and unix-abstract`;
}
