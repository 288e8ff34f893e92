/** What four processes do against one, and the words for it. */
import type { Load } from './load.ts'
import { median } from './programs.ts'
import { metOrMissed } from './results.ts'

export const SIDES = { one: 1, four: 4 } as const
export type SideName = keyof typeof SIDES
export type Seen = Load & { readonly databaseMs: number }

/** Four on the same cores keep at least this share of what one does. */
const TARGET = 0.85

/** `size`: how many of the unit one request is. */
export function report(
  kind: string,
  size: number,
  seen: Readonly<Record<SideName, readonly Seen[]>>,
): string[] {
  const middle = (name: SideName, of: keyof Seen) => median(seen[name].map((load) => load[of]))
  // Of rounds that were measured side by side.
  const ratio = median(seen.four.map(({ perSecond }, round) => perSecond / seen.one[round]!.perSecond))
  const line = (name: SideName) => {
    const perSecond = Math.round(middle(name, 'perSecond') * size).toLocaleString('en')
    const [node, database] = (['cpuMs', 'databaseMs'] as const).map((of) =>
      (middle(name, of) / size).toPrecision(3),
    )
    return `  ${name.padEnd(5)} ${perSecond}/s, CPU each: Node ${node} ms, Postgres ${database} ms`
  }
  return [
    kind,
    line('one'),
    line('four'),
    `  four against one  ${ratio.toFixed(2)}x (target ${TARGET}x: ${metOrMissed(ratio >= TARGET)})`,
  ]
}
