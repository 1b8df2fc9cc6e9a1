import { goJsonString } from '../../compat/go-text.ts';
import { textChecksum } from './checksum.ts';
import { CheckpointContentError } from './errors.ts';
import { countOf, type Fields, parseFields, textOf } from './json.ts';

/**
 * The form of a resource manager's checkpoint file: the fields in the older form with its checksum, and the same once more as a text in `data` with a
 * checksum of its own. Source: contract node.md §5 and §6.
 */

/** `fields` are JSON without the braces around them. */
export function envelopeText(fields: string, legacyChecksum: number): string {
  const data = `{${fields}}`;
  return `{${fields},"checksum":${legacyChecksum},"data":${goJsonString(data)},"dataChecksum":${textChecksum(data)}}`;
}

/**
 * The content of a file of any version. `legacyChecksums`: those that the older form may have. Throws CheckpointContentError for what is no such
 * file, or damaged. Older agents wrote no `data`; those before them no checksum.
 */
export function readEnvelope<C>(
  text: string,
  contentOf: (fields: Fields) => C,
  legacyChecksums: (content: C, fields: Fields) => readonly number[],
): C {
  const fields = parseFields(text, 'the checkpoint');
  const data = textOf(fields, 'data');
  const dataChecksum = countOf(fields, 'dataChecksum');
  if (data !== '' || dataChecksum !== 0) {
    if (textChecksum(data) !== dataChecksum)
      throw new CheckpointContentError('checkpoint is corrupted: its data does not have its dataChecksum');
    return contentOf(parseFields(data, 'its data'));
  }
  const content = contentOf(fields);
  const checksum = countOf(fields, 'checksum');
  const known = legacyChecksums(content, fields);
  if (checksum !== 0 && !known.includes(checksum)) {
    throw new CheckpointContentError('checkpoint is corrupted: it does not have its checksum');
  }
  return content;
}
