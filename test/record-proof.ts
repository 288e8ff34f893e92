/**
 * After a whole run of the long tests, of a third of them, or of those of a cluster, test/proofs.json says what ran on which
 * version; with PROOF=record after any run, for the files that ran whole.
 */
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative } from 'node:path'
import type { Reporter, TestModule, Vitest } from 'vitest/node'
import { commitHere } from '../bench/results.ts'
import { SECONDS } from './long-thirds.ts'
import { readProofs, withProofRuns, withRun, writeProofs, type ProofRun } from './proofs.ts'

const ROOT = join(import.meta.dirname, '..')

let vitest: Vitest
const startedAt = new Date()

/** `part`: what of all proofs ran. */
export const recordProof = (part: string): Reporter => ({
  onInit(of) {
    vitest = of
  },
  // At once: a whole run takes an hour, and tells of its failures at the end.
  onTestCaseResult(test) {
    for (const { message } of test.result().errors ?? []) console.log(`${test.fullName}: ${message}`)
  },
  async onTestRunEnd(modules, errors, reason) {
    if (reason === 'interrupted') return
    const whole = await isWhole(modules)
    if (!whole && (process.env['PROOF'] !== 'record' || vitest.config.testNamePattern)) return
    const about = {
      date: startedAt.toISOString().slice(0, 10),
      commit: commitHere() ?? 'no repository',
      machine: `${availableParallelism()} ${process.arch} cores, Node ${process.versions.node}`,
    }
    const proofs = readProofs()
    const seconds = Math.round((Date.now() - startedAt.getTime()) / 1000)
    const failedFiles = errors.length + modules.filter((module) => module.state() === 'failed').length
    const result = resultOf({ ...count(modules), failedFiles })
    if (whole) console.log(`${about.commit} ${part}: ${result}`)
    writeProofs({
      ...proofs,
      runs: whole ? withRun(proofs.runs, { ...about, part, seconds, result }) : proofs.runs,
      proofs: withProofRuns(proofs.proofs, runsOf(modules, about)),
    })
  },
})

/** Those that have a row of their own; walks are counted with the whole. */
function runsOf(
  modules: readonly TestModule[],
  about: Pick<ProofRun, 'date' | 'commit' | 'machine'>,
): ProofRun[] {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
  return modules.flatMap((module) => {
    const file = relative(ROOT, module.moduleId)
    if (!(file in SECONDS)) return []
    const seconds = Math.round(module.diagnostic().duration / 1000)
    // What failed before its tests were known counts as one.
    const { passed, skipped, failed } = count([module])
    const broken = module.state() === 'failed' && failed === 0 ? 1 : failed
    return [{ file, version, ...about, seconds, passed, skipped, failed: broken }]
  })
}

type Counts = { readonly passed: number; readonly skipped: number; readonly failed: number }

export function resultOf({
  passed,
  skipped,
  failed,
  failedFiles,
}: Counts & { readonly failedFiles: number }): string {
  const number = (n: number) => n.toLocaleString('en-US')
  return [
    `${number(passed)} passed`,
    skipped > 0 && `${number(skipped)} skipped`,
    failedFiles > 0 && `${number(failed)} failed in ${number(failedFiles)} files`,
  ]
    .filter((words) => words !== false)
    .join(', ')
}

function count(modules: readonly TestModule[]): Counts {
  const counts = { passed: 0, skipped: 0, failed: 0, pending: 0 }
  for (const module of modules) {
    for (const test of module.children.allTests()) counts[test.result().state] += 1
  }
  return { passed: counts.passed, skipped: counts.skipped, failed: counts.failed }
}

/** Every file of every project, and no test left out by its name. */
async function isWhole(modules: readonly TestModule[]): Promise<boolean> {
  if (vitest.config.testNamePattern || vitest.config.project.length > 0) return false
  const files = await Promise.all(
    vitest.projects.map(async (project) => (await project.globTestFiles()).testFiles),
  )
  return modules.length === files.flat().length
}
