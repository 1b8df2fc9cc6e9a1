/** What is not built yet, and the areas whose specs need it. */
export const notBuilt: readonly { what: string; areas: readonly string[] }[] = [
  {
    what: 'device plug-ins and the PodResources API',
    areas: ['device_plugin', 'device_plugin_failures', 'device_plugin_failures_pod_status', 'podresources'],
  },
];

/** One line for each missing piece that explains faults of these areas, and one for areas that nothing explains. */
export function reasonsFor(areas: readonly string[]): string[] {
  const explained = notBuilt.flatMap((piece) => {
    const met = piece.areas.filter((area) => areas.includes(area));
    return met.length === 0 ? [] : [`Not built yet: ${piece.what} (${met.join(', ')}).`];
  });
  const known = new Set(notBuilt.flatMap((piece) => piece.areas));
  const open = areas.filter((area) => !known.has(area));
  return open.length === 0 ? explained : [...explained, `Not explained: ${open.join(', ')}.`];
}
