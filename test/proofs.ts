/** What the long proofs said when they ran, in test/proofs.json; docs/proofs.md is made of it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** All of them, or a third. */
export type WholeRun = {
  readonly date: string
  readonly commit: string
  readonly part: string
  readonly machine: string
  readonly seconds: number
  readonly result: string
}

/** The last run of one file. */
export type ProofRun = {
  readonly file: string
  readonly date: string
  readonly version: string
  readonly commit: string
  readonly machine: string
  readonly seconds: number
  readonly passed: number
  readonly skipped: number
  readonly failed: number
}

/** Numbers that a proof prints, written down by hand. */
export type Found = {
  readonly proof: string
  readonly what: string
  readonly result: string
  readonly without: string | null
  readonly date: string
  readonly machine: string
}

export type Proofs = {
  readonly runs: readonly WholeRun[]
  readonly proofs: readonly ProofRun[]
  readonly found: readonly Found[]
}

const FILE = join(import.meta.dirname, 'proofs.json')

export const readProofs = (): Proofs => JSON.parse(readFileSync(FILE, 'utf8')) as Proofs

/** One on a line, so that two people who add some seldom meet. */
export function writeProofs({ runs, proofs, found }: Proofs): void {
  const list = (ones: readonly object[]) =>
    ones.length === 0 ? '[]' : `[\n${ones.map((one) => `    ${JSON.stringify(one)}`).join(',\n')}\n  ]`
  writeFileSync(
    FILE,
    `{\n  "runs": ${list(runs)},\n  "proofs": ${list(proofs)},\n  "found": ${list(found)}\n}\n`,
  )
}

/** As many as say of each third, and of everything, when it ran last and before. */
const RUNS_MAX = 8

/** The newest first; one that says the same of the same version is replaced. */
export const withRun = (runs: readonly WholeRun[], run: WholeRun): WholeRun[] =>
  [run, ...runs.filter(({ commit, part }) => commit !== run.commit || part !== run.part)].slice(0, RUNS_MAX)

export const withProofRuns = (before: readonly ProofRun[], now: readonly ProofRun[]): ProofRun[] =>
  [...before.filter(({ file }) => !now.some((one) => one.file === file)), ...now].toSorted((a, b) =>
    a.file < b.file ? -1 : 1,
  )
