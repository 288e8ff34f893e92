/**
 * Compares the seals of an export with those that were kept elsewhere (TRAIL_ROOTS): whoever holds the database can have the
 * server sign another trail, and only what lies out of their reach tells the two apart.
 */
import type { SignedSeal } from '../../contracts/trail-format.ts'

export type RootProblem = {
  /** `different`: another seal has its number. */
  readonly what: 'dropped' | 'different'
  readonly seal: number
  readonly epoch: string
  readonly first: number
  readonly rows: number
  readonly sealed_at: string
}

export type RootsReport = {
  /** How many of this organization were found, each once. */
  readonly kept: number
  /** The first of those that are wrong, and how many there are. */
  readonly problems: readonly RootProblem[]
  readonly wrong: number
  /** Of rows that were lost where the database went back, as signed. */
  readonly lost: number
  /** From after the export. */
  readonly younger: number
  /** Lines that are no root: one that was cut is written again. */
  readonly unreadable: number
}

const PROBLEMS_MAX = 20
/** A seal is signed a moment before it is stored, by the clock of another process. */
const MOMENT_MS = 60_000

export function rootsComparer() {
  const seals = new Map<number, string>()
  const breaks: number[] = []
  /** The last seal of each epoch. */
  const lastOf = new Map<string, number>()
  return {
    /** Of the export, in its order. */
    takeSeal(signed: SignedSeal, text: string): void {
      seals.set(signed.number, text)
      lastOf.set(signed.epoch, signed.number)
      if (signed.break) breaks.push(signed.number)
    },

    async compare(
      kept: AsyncIterable<string>,
      { org, exportedAt }: { readonly org: string | null; readonly exportedAt: string | null },
    ): Promise<RootsReport> {
      const youngFrom = exportedAt === null ? Infinity : Date.parse(exportedAt) - MOMENT_MS
      const seen = new Set<string>()
      const problems: RootProblem[] = []
      let [found, lost, younger, unreadable] = [0, 0, 0, 0]
      for await (const line of kept) {
        const root = readRoot(line)
        if (!root) unreadable++
        if (!root || root.signed.org !== org) continue
        const { signed, text } = root
        if (seals.get(signed.number) === text) {
          if (!seen.has(String(signed.number))) found++
          seen.add(String(signed.number))
          continue
        }
        if (seen.has(text)) continue
        seen.add(text)
        found++
        const isThere = seals.has(signed.number)
        if (isLost(signed)) lost++
        else if (!isThere && Date.parse(signed.sealed_at) >= youngFrom) younger++
        else {
          const { number: seal, epoch, first, rows, sealed_at } = signed
          problems.push({ what: isThere ? 'different' : 'dropped', seal, epoch, first, rows, sealed_at })
        }
      }
      const inOrder = problems.toSorted((a, b) => a.seal - b.seal)
      return {
        kept: found,
        problems: inOrder.slice(0, PROBLEMS_MAX),
        wrong: problems.length,
        lost,
        younger,
        unreadable,
      }
    },
  }

  /** A break stands at its number or before, and from there on the trail has none of its epoch. */
  function isLost({ number, epoch }: SignedSeal): boolean {
    const at = breaks.findLast((one) => one <= number)
    return at !== undefined && (lastOf.get(epoch) ?? 0) < at
  }
}

function readRoot(line: string): { readonly signed: SignedSeal; readonly text: string } | undefined {
  try {
    const { signed: text } = JSON.parse(line) as { signed: string }
    const signed = JSON.parse(text) as SignedSeal
    return typeof signed.org === 'string' && typeof signed.number === 'number' ? { signed, text } : undefined
  } catch {
    return undefined
  }
}
