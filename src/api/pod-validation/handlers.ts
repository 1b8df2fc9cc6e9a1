import type { Field } from './field.ts';
import { headerName, portName, portNumber } from './names.ts';

const SIGNALS =
  `ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP TSTP TTIN TTOU URG
  USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX`
    .split(/\s+/)
    .map((name) => `SIG${name}`);

/** Signals that a Linux container can be stopped with. */
const StopSignals: readonly string[] = [
  ...SIGNALS,
  ...Array.from({ length: 15 }, (_, i) => `SIGRTMIN+${i + 1}`),
  ...Array.from({ length: 14 }, (_, i) => `SIGRTMAX-${i + 1}`),
];

/** One way to probe or to hook: exactly one of them. `grace` is the pod's, in seconds. */
function validateHandler(handler: Field, kinds: readonly string[], grace: number): void {
  const [first, ...more] = kinds.filter((kind) => handler.get(kind).isSet);
  if (first === undefined) handler.report('says nothing to do', kinds.join(', '));
  for (const kind of more) handler.get(kind).report(`is given beside ${first}`);
  const action = handler.get(first ?? '');
  if (first === 'exec') action.get('command').require();
  if (first === 'httpGet') validateHttpGet(action);
  if (first === 'tcpSocket') validatePort(action.get('port'));
  if (first === 'grpc') validateGrpc(action);
  if (first === 'sleep') {
    const seconds = action.get('seconds').number;
    if (seconds < 0 || seconds > grace) action.report(`${seconds} seconds are not from 0 to terminationGracePeriodSeconds (${grace})`);
  }
}

function validatePort(port: Field): void {
  if (typeof port.value === 'string') port.reportAll(portName(port.text));
  else port.reportAll(portNumber(port.number));
}

function validateHttpGet(action: Field): void {
  action.get('path').require();
  validatePort(action.get('port'));
  action.get('scheme').oneOf(['HTTP', 'HTTPS']);
  const headers = action.get('httpHeaders');
  for (const header of headers.each()) headers.with(header.get('name').value).reportAll(headerName(header.get('name').text));
  const protocol = action.get('protocol');
  if (!protocol.isSet || !protocol.oneOf(['HTTP1', 'HTTP2']) || protocol.text !== 'HTTP2') return;
  if (action.get('scheme').text !== 'HTTP') protocol.report('HTTP2 goes only with the scheme HTTP');
  else if (action.get('host').text !== '') action.get('host').report('does not go with HTTP2');
}

function validateGrpc(action: Field): void {
  validatePort(action.get('port'));
  if (action.get('mode').isSet) action.get('mode').oneOf(['Plaintext', 'TLS']);
}

export function validateProbe(probe: Field, kind: 'liveness' | 'readiness' | 'startup', grace: number): void {
  if (!probe.isSet) return;
  validateHandler(probe, ['exec', 'httpGet', 'tcpSocket', 'grpc'], grace);
  for (const name of ['initialDelaySeconds', 'timeoutSeconds', 'periodSeconds', 'successThreshold', 'failureThreshold'])
    probe.get(name).notNegative();
  const ownGrace = probe.get('terminationGracePeriodSeconds');
  if (ownGrace.isSet && ownGrace.number <= 0) ownGrace.report('must be greater than 0');
  if (kind === 'readiness') {
    if (ownGrace.isSet) ownGrace.report('does not go with a readiness probe');
  } else if (probe.get('successThreshold').number !== 1) probe.get('successThreshold').report('must be 1');
}

export function validateLifecycle(lifecycle: Field, os: Field, grace: number): void {
  for (const name of ['postStart', 'preStop']) {
    if (lifecycle.get(name).isSet) validateHandler(lifecycle.get(name), ['exec', 'httpGet', 'tcpSocket', 'sleep'], grace);
  }
  const signal = lifecycle.get('stopSignal');
  if (!signal.isSet) return;
  const system = os.get('name').text;
  if (!os.isSet) signal.report('needs spec.os.name');
  else if (system === 'windows') signal.oneOf(['SIGKILL', 'SIGTERM']);
  else if (system === 'linux') signal.oneOf(StopSignals);
}
