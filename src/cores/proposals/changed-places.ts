/**
 * Where diffs change a file, known by the lines that were there: two changes of the same lines are about the same, whatever
 * was cited for them and however they were written. Pure, and linear in its input.
 */
import { readDiffLines, splitDiff, type DiffLine } from '../../contracts/read-diff.ts'
import { foldBlanks } from '../../contracts/plain-text.ts'

export type ChangedPlace = {
  readonly path: string
  /** Replaced or removed; where lines are only added, those around them. None: the file was not there. */
  readonly lines: readonly string[]
  readonly isAddition: boolean
}

/** `paths`: of the files of the diff, in its order. */
export const changedPlaces = (diff: string, paths: readonly string[]): ChangedPlace[] =>
  splitDiff(diff).flatMap((part, n) =>
    placesIn(readDiffLines(part)).map((place) => ({ path: paths[n] ?? '', ...place })),
  )

/** As the old file had them. What was replaced and is not there any more, no later diff can replace. */
function placesIn(lines: readonly DiffLine[]): Omit<ChangedPlace, 'path'>[] {
  const places: Omit<ChangedPlace, 'path'>[] = []
  for (let at = 0; at < lines.length; at++) {
    if (!isChange(lines[at]!)) continue
    const from = at
    while (at < lines.length && isChange(lines[at]!)) at++
    const block = lines.slice(from, at)
    if (block.every(({ kind }) => kind === 'note')) continue
    const removed = block
      .filter(({ kind }) => kind === 'removed')
      .map(({ text }) => foldBlanks(text))
      .filter((text) => text !== '')
    const isAddition = removed.length === 0
    const kept = isAddition ? [...around(lines, from - 1, -1), ...around(lines, at, 1)] : removed
    places.push({ lines: kept, isAddition })
  }
  return places
}

/** Git says of the last line, between two changes of it, that no line break ends it. */
const isChange = ({ kind }: DiffLine): boolean => kind === 'added' || kind === 'removed' || kind === 'note'

/** The nearest line that says something, or else the nearest one. */
function around(lines: readonly DiffLine[], from: number, step: 1 | -1): string[] {
  const near: string[] = []
  for (let at = from; lines[at]?.kind === 'same'; at += step) near.push(foldBlanks(lines[at]!.text))
  const found = near.find(isTelling) ?? near.find((text) => text !== '')
  return found === undefined ? [] : [found]
}

/** Brackets and `else` are in every file. */
const TELLING_MIN = 8
const isTelling = (line: string): boolean => line.length >= TELLING_MIN

/** What is only added says where, and not what it is about, as an import does: it counts where neither replaces anything. */
export function haveCommonPlace(a: readonly ChangedPlace[], b: readonly ChangedPlace[]): boolean {
  const [of, others] = [telling(a), telling(b)]
  return of.some((one) => others.some((other) => isSamePlace(one, other)))
}

function telling(places: readonly ChangedPlace[]): readonly ChangedPlace[] {
  const replaced = places.filter(({ isAddition }) => !isAddition)
  return replaced.length > 0 ? replaced : places
}

/** One of them is within the other. */
function isSamePlace(a: ChangedPlace, b: ChangedPlace): boolean {
  if (a.path !== b.path || a.isAddition !== b.isAddition) return false
  const [few, many] = [tellingOf(a), tellingOf(b)].toSorted((one, other) => one.size - other.size)
  return few!.size === 0 ? many!.size === 0 : [...few!].every((line) => many!.has(line))
}

function tellingOf({ lines }: ChangedPlace): ReadonlySet<string> {
  const telling = lines.filter(isTelling)
  return new Set(telling.length > 0 ? telling : lines)
}
