/** `major.minor[.patch]`, with an optional `v`, prerelease and build, which do not count. */
const Version = /^v?(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(?:\.(0|[1-9]\d{0,8}))?(?:[-+][0-9A-Za-z.+-]*)?$/;
/** Those of one major version are compatible with each other; only CSI 1 is spoken. */
const Major = 1;

function parts(version: string): readonly number[] | undefined {
  const match = Version.exec(version.trim());
  return match === null ? undefined : match.slice(1, 4).map((text) => Number(text ?? 0));
}

/** Below 0, 0 or above 0. A text that is no version is below all. */
export function compareVersions(a: string, b: string): number {
  const [x = [-1], y = [-1]] = [parts(a), parts(b)];
  for (let i = 0; i < 3; i++) {
    const difference = (x[i] ?? 0) - (y[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The newest version of CSI 1 among `versions`; undefined when there is none. */
export function highestVersion(versions: readonly string[]): string | undefined {
  const known = versions.filter((version) => parts(version)?.[0] === Major);
  return known.sort(compareVersions).at(-1);
}
