/** Installs a skill for coding agents: first a plan, which only reads, then the writes. */
import type { Skill } from '../../skills/bundle.ts'
import { describeFsError, NODE_FS, type FileSystem } from './file-system.ts'
import { findRoot, type InstallOptions } from './find-root.ts'
import { instructionFiles, skillFolders } from './install-paths.ts'
import { instructionsAt, targetAt } from './plan-steps.ts'
import { inOrder, withoutCollisions, type Instructions, type Plan, type Step, type Target } from './plan.ts'
import { removeStaleTempFiles } from './remove-stale-temp-files.ts'
import { buildReport, refusedFiles, type Failure, type Outcome, type Report } from './report.ts'
import { ConcurrentChangeError, removeFile, replaceFile } from './write-file.ts'

export { formatReport, installError, refusedFiles, type Report } from './report.ts'
export { statusOf } from './status.ts'
export type { Plan } from './plan.ts'

export async function planInstall(
  skill: Skill,
  options: InstallOptions,
  fs: FileSystem = NODE_FS,
): Promise<Plan> {
  const root = await findRoot(fs, options)
  const at = { fs, root }
  const targets: Target[] = []
  for (const folder of await skillFolders(at, skill.id, options))
    targets.push(await targetAt(at, skill, folder))
  const instructions: Instructions[] = []
  for (const file of await instructionFiles(at, options)) {
    instructions.push(await instructionsAt(at, skill, file, options.user ? 'user' : 'project'))
  }
  return withoutCollisions({ id: skill.id, version: skill.version, root, targets, instructions })
}

/** What `applyPlan` would do. */
export const dryRunPlan = (plan: Plan, { force = false }: { force?: boolean } = {}): Report =>
  buildReport(plan, { force, dryRun: true, outcomeOf: () => 'written' })

/** Writes nothing if anything is refused. Stops at the first failure, with every file either old or new. */
export async function applyPlan(
  plan: Plan,
  { force = false }: { force?: boolean } = {},
  fs: FileSystem = NODE_FS,
): Promise<Report> {
  const outcomes = new Map<Step, Outcome>()
  const outcomeOf = (step: Step): Outcome => outcomes.get(step) ?? 'not reached'
  if (refusedFiles(plan, { force }).length > 0) return buildReport(plan, { force, outcomeOf })
  const steps = inOrder(plan)
  await removeStaleTempFiles(
    fs,
    steps.map(({ real }) => real),
  )
  for (const step of steps) {
    try {
      outcomes.set(step, await applyStep(fs, step))
    } catch (error) {
      return buildReport(plan, { force, outcomeOf, failed: failureAt(step, error) })
    }
  }
  return buildReport(plan, { force, outcomeOf })
}

async function applyStep(fs: FileSystem, { real, found, decision }: Step): Promise<Outcome> {
  if ('after' in decision) return replaceFile(fs, { real, found, after: decision.after })
  if (decision.action !== 'remove') return 'already'
  await removeFile(fs, real, found)
  return 'written'
}

const failureAt = ({ shown: path }: Step, error: unknown): Failure =>
  error instanceof ConcurrentChangeError
    ? { path, code: 'CONFLICT', why: 'was changed by another process during the install' }
    : { path, code: 'UNEXPECTED', why: `could not be written: ${describeFsError(error)}` }
