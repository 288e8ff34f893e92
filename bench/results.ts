/** What was measured, in bench/results.json; docs/benchmarks.md is made of it. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

export type Result = {
  readonly bench: string
  readonly what: string
  /** Empty where the ratio says it all. */
  readonly measured: string
  readonly ratio: string | null
  readonly target: string | null
  /** Null without a target. */
  readonly met: boolean | null
  readonly date: string
  readonly machine: string
  /** Null for what was measured before commits were written down. */
  readonly commit: string | null
  /** A run of a bench replaces what earlier runs of it said, and leaves what was recorded by hand. */
  readonly by: 'run' | 'hand' | 'moved'
}

const FILE = join(import.meta.dirname, 'results.json')

export const readResults = (): Result[] => JSON.parse(readFileSync(FILE, 'utf8')) as Result[]

/** One on a line, so that two people who add some seldom meet. */
export function writeResults(results: readonly Result[]): void {
  writeFileSync(FILE, `[\n${results.map((result) => `  ${JSON.stringify(result)}`).join(',\n')}\n]\n`)
}

/** What was said of a bench, or of the same thing by hand, gives way; the order of benches stays. */
export function withResults(
  before: readonly Result[],
  added: readonly Result[],
  { isPart = false } = {},
): Result[] {
  const isReplaced = (old: Result) =>
    added.some(
      ({ bench, what, by }) =>
        bench === old.bench && (what === old.what || (by === 'run' && old.by !== 'hand' && !isPart)),
    )
  const kept = before.filter((result) => !isReplaced(result))
  const order = [...new Set([...before, ...added].map(({ bench }) => bench))]
  return order.flatMap((name) => [...kept, ...added].filter(({ bench }) => bench === name))
}

/** In the lines that a bench prints, after its target: `(target 2x: met)`. */
export const metOrMissed = (isMet: boolean): 'met' | 'missed' => (isMet ? 'met' : 'missed')

/** Of the lines that a bench prints: a name, two spaces or a colon, what was measured, and perhaps `(target 2x: met)`. */
export function resultsOf(bench: string, lines: readonly string[], about: Here): Result[] {
  const results: Result[] = []
  let heading = ''
  for (const line of lines) {
    const text = line.trim()
    const [name = '', ...rest] = text.split(/ {2,}|: (?=\d)/)
    const [whole = '', target, verdict] = / ?\(target ([^:)]+): (met|missed)\)/.exec(text) ?? []
    if (text.includes('(target ') && (verdict === undefined || rest.length === 0))
      throw new Error(`A target is neither met nor missed, or of nothing, in: ${line}`)
    if (rest.length === 0) {
      heading = text
      continue
    }
    const measured = rest.join(', ').replace(whole, '').trim()
    results.push({
      bench,
      what: heading && line.startsWith(' ') ? `${heading}: ${name}` : name,
      measured,
      ratio: /\d[\d.]*x/.exec(measured)?.[0] ?? null,
      target: target ?? null,
      met: verdict === undefined ? null : verdict === 'met',
      ...about,
      by: 'run',
    })
  }
  return results
}

export type Here = Pick<Result, 'date' | 'machine' | 'commit'>

export function here(): Here {
  return {
    date: new Date().toISOString().slice(0, 10),
    machine: `${availableParallelism()} ${process.arch} cores`,
    commit: commitHere(),
  }
}

/** Also in test/record-proof.ts: what is measured is what is committed, and otherwise it says so. */
export function commitHere(): string | null {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim()
  try {
    const changes = git(
      'status',
      '--porcelain',
      '--',
      '.',
      ':!docs',
      ':!bench/results.json',
      ':!test/proofs.json',
    )
    return `${git('rev-parse', '--short=12', 'HEAD')}${changes ? ' with changes' : ''}`
  } catch {
    return null
  }
}
