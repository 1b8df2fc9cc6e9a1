import { type Figures, figureNames, medians } from './figures.ts';

type Name = keyof Figures;

/** At most how much of the other kubelet's figure ours may be, with pods through the API server, by number of pods. */
export function apiAims(pods: number): Partial<Record<Name, number>> {
  const always = { startCpu: 1 };
  if (pods === 1) return { ready50: 0.4, ...always };
  if (pods < 100) return { ready50: 0.4, readyLast: 0.6, ...always };
  return { ready50: 0.45, readyLast: 0.65, stop: 0.6, idleCpu: 0.5, rss: 1, ...always };
}

/**
 * One line an aim: met, or by how much it is missed. An aim below 1.2 of the floor (the best of the bare calls) counts as
 * met at 1.2 of it.
 */
export function verdicts(
  results: ReadonlyMap<string, readonly Figures[]>,
  own: string,
  other: string,
  aims: Partial<Record<Name, number>>,
): string[] {
  const of = (name: string) => medians(results.get(name) ?? []);
  const floors = [...results.keys()].filter((n) => n.startsWith('bare')).map(of);
  return (Object.entries(aims) as [Name, number][]).map(([figure, aim]) => {
    const [a, b] = [of(own)[figure], of(other)[figure]];
    if (a === undefined || b === undefined) return `- ${figureNames[figure]}: not measured`;
    // The CPU time of the bench's own process is no floor under a kubelet's.
    const floor = figure === 'startCpu' || floors.length === 0 ? Number.NaN : Math.min(...floors.map((f) => f[figure] ?? Number.NaN));
    const met = a <= aim * b || a <= 1.2 * floor;
    const byFloor = a > aim * b && met ? `, met at 1.2 of the floor ${floor.toFixed(2)}` : '';
    const above = Number.isNaN(floor) ? '' : `, ${(a / floor).toFixed(2)} of the floor`;
    return `- ${figureNames[figure]}: ${(a / b).toFixed(2)} of the other, aim ${aim}${above}: ${met ? `met${byFloor}` : 'missed'}`;
  });
}
