import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '../../observe/log.ts';
import { HttpError } from '../errors.ts';
import { sendText } from '../http.ts';
import { smallBody } from '../small-body.ts';

/** Answers /debug/flags/v: the level of the log changes at once (contract http-api §4). */
export async function setLogLevel(
  deps: { setVerbosity(level: number): void; log: Logger },
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  if (req.method !== 'PUT') throw new HttpError(406, 'unsupported http method');
  const text = (await smallBody(req)).trim();
  if (!/^-?[0-9]{1,9}$/.test(text)) {
    throw new HttpError(400, `failed set klog.logging.verbosity ${text.slice(0, 80)}: it is not a number`);
  }
  deps.setVerbosity(Number(text));
  deps.log.info('Verbosity changed', { v: Number(text) });
  sendText(res, 200, `successfully set klog.logging.verbosity to ${text}\n`);
}
