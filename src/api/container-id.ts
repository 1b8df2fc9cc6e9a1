/** A container id with the runtime that gave it, as statuses carry it: `containerd://abc`. */
export interface TypedContainerId {
  type: string;
  id: string;
}

/** Reads `type://id`, with or without quotes around it. Anything else gives two empty texts. */
export function parseContainerId(text: string): TypedContainerId {
  const parts = text
    .replace(/^"+/, '')
    .replace(/(?<!")"+$/, '')
    .split('://');
  const [type = '', id = ''] = parts.length === 2 ? parts : [];
  return { type, id };
}

/** `type://id`. */
export function formatContainerId(id: TypedContainerId): string {
  return `${id.type}://${id.id}`;
}

/** Whether there is neither a type nor an id. */
export function isEmptyContainerId(id: TypedContainerId): boolean {
  return id.type === '' && id.id === '';
}

/** The id without its `type://`; a text without one as it is. */
export function bareContainerId(text: string): string {
  const scheme = text.indexOf('://');
  return scheme < 0 ? text : text.slice(scheme + 3);
}
