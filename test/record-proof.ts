/** After a whole run of the long tests, of a third of them, or of those of a cluster: a row in docs/proofs.md says what ran on which version. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Reporter, TestModule, Vitest } from 'vitest/node'

const PROOFS = fileURLToPath(new URL('../docs/proofs.md', import.meta.url))
/** Below this line of the table come the rows, the newest first. */
const HEAD = '|---|---|---|---|---|---|\n'
/** As many rows as say of each third, and of everything, when it ran last and before. */
const ROWS_MAX = 8

let vitest: Vitest
const startedAt = new Date()

/** `part`: what of all proofs ran. */
export const recordProof = (part: string): Reporter => ({
  onInit(of) {
    vitest = of
  },
  async onTestRunEnd(modules, errors, reason) {
    if (reason === 'interrupted' || !(await isWhole(modules))) return
    const row = rowOf({
      at: startedAt,
      commit: commitHere(),
      part,
      seconds: (Date.now() - startedAt.getTime()) / 1000,
      where: `${availableParallelism()} ${process.arch} cores, Node ${process.versions.node}`,
      ...count(modules),
      failedFiles: errors.length + modules.filter((module) => module.state() === 'failed').length,
    })
    console.log(row)
    writeFileSync(PROOFS, withRow(readFileSync(PROOFS, 'utf8'), row))
  },
})

export type Proof = {
  readonly at: Date
  readonly commit: string
  readonly part: string
  readonly where: string
  readonly seconds: number
  readonly passed: number
  readonly skipped: number
  readonly failed: number
  readonly failedFiles: number
}

export function rowOf(proof: Proof): string {
  const { at, commit, part, where, seconds, passed, skipped, failed, failedFiles } = proof
  const number = (n: number) => Math.round(n).toLocaleString('en-US')
  const result = [
    `${number(passed)} passed`,
    skipped > 0 && `${number(skipped)} skipped`,
    failedFiles > 0 && `${number(failed)} failed in ${number(failedFiles)} files`,
  ]
  const cells = [
    at.toISOString().slice(0, 10),
    `\`${commit}\``,
    part,
    where,
    `${number(seconds)} s`,
    result.filter((words) => words !== false).join(', '),
  ]
  return `| ${cells.join(' | ')} |`
}

/** The newest first; one that says the same of the same version is replaced. */
export function withRow(text: string, row: string): string {
  const at = text.indexOf(HEAD)
  if (at < 0) throw new Error('docs/proofs.md has no table of runs')
  const [before, after] = [text.slice(0, at + HEAD.length), text.slice(at + HEAD.length)]
  const end = after.search(/^(?!\|)/m)
  const whatRan = (line: string) => line.split(' | ').slice(1, 3).join()
  const rows = after
    .slice(0, end)
    .split('\n')
    .filter((line) => line !== '' && whatRan(line) !== whatRan(row))
  return `${before}${[row, ...rows].slice(0, ROWS_MAX).join('\n')}\n${after.slice(end)}`
}

function commitHere(): string {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim()
  try {
    const changes = git('status', '--porcelain', '--', '.', ':!docs/proofs.md')
    return `${git('rev-parse', '--short=12', 'HEAD')}${changes ? ' with changes' : ''}`
  } catch {
    return 'no repository'
  }
}

function count(modules: readonly TestModule[]): Pick<Proof, 'passed' | 'skipped' | 'failed'> {
  const counts = { passed: 0, skipped: 0, failed: 0, pending: 0 }
  for (const module of modules) {
    for (const test of module.children.allTests()) counts[test.result().state] += 1
  }
  return counts
}

/** Every file of every project, and no test left out by its name. */
async function isWhole(modules: readonly TestModule[]): Promise<boolean> {
  if (vitest.config.testNamePattern || vitest.config.project.length > 0) return false
  const files = await Promise.all(
    vitest.projects.map(async (project) => (await project.globTestFiles()).testFiles),
  )
  return modules.length === files.flat().length
}
