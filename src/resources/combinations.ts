/** Every choice of `size` members, in the order of the list: `ab ac bc` of `abc`. */
export function* combinations<T>(list: readonly T[], size: number): Generator<readonly T[]> {
  if (size < 1 || size > list.length) return;
  if (size === 1) {
    for (const member of list) yield [member];
    return;
  }
  for (const [i, first] of list.entries()) {
    for (const rest of combinations(list.slice(i + 1), size - 1)) yield [first, ...rest];
  }
}

/** Every choice of at least one member, small ones first. */
export function* allCombinations<T>(list: readonly T[]): Generator<readonly T[]> {
  for (let size = 1; size <= list.length; size++) yield* combinations(list, size);
}
