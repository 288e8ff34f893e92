/** Installs a skill where coding agents look for it: first a plan, made by reading only, then the writes. Content alone decides. */
import type { Skill } from '../../skills/bundle.ts'
import { DISK, sentenceFor, type Disk } from './disk.ts'
import { findRoot, type Where } from './find-root.ts'
import { instructionFiles, skillFolders } from './places.ts'
import { inOrder, withoutCollisions, type Instructions, type Plan, type Step, type Target } from './plan.ts'
import { refusals, reportOn, type Failure, type Outcome, type Report } from './report.ts'
import { clearStaleTemps } from './stale-temps.ts'
import { instructionsAt, targetAt } from './steps.ts'
import { ChangedMeanwhile, removeFile, replaceFile } from './write-file.ts'

export { linesOf, objectionTo, refusals, type Report } from './report.ts'
export { statusOf } from './status.ts'
export type { Plan } from './plan.ts'

export async function planInstall(skill: Skill, where: Where, disk: Disk = DISK): Promise<Plan> {
  const root = await findRoot(disk, where)
  const at = { disk, root }
  const targets: Target[] = []
  for (const place of await skillFolders(at, skill.id, where)) targets.push(await targetAt(at, skill, place))
  const instructions: Instructions[] = []
  for (const place of await instructionFiles(at, where)) {
    instructions.push(await instructionsAt(at, skill, place, where.user ? 'user' : 'project'))
  }
  return withoutCollisions({ id: skill.id, version: skill.version, root, targets, instructions })
}

/** What `applyPlan` would do. */
export const tryPlan = (plan: Plan, { force = false }: { force?: boolean } = {}): Report =>
  reportOn(plan, { force, dryRun: true, outcomeOf: () => 'written' })

/** Writes nothing at all if anything is refused. Ends at the first failure, with every file either old or new. */
export async function applyPlan(
  plan: Plan,
  { force = false }: { force?: boolean } = {},
  disk: Disk = DISK,
): Promise<Report> {
  const outcomes = new Map<Step, Outcome>()
  const outcomeOf = (step: Step): Outcome => outcomes.get(step) ?? 'not reached'
  if (refusals(plan, { force }).length > 0) return reportOn(plan, { force, outcomeOf })
  const steps = inOrder(plan)
  await clearStaleTemps(
    disk,
    steps.map(({ real }) => real),
  )
  for (const step of steps) {
    try {
      outcomes.set(step, await take(disk, step))
    } catch (error) {
      return reportOn(plan, { force, outcomeOf, failed: failureAt(step, error) })
    }
  }
  return reportOn(plan, { force, outcomeOf })
}

async function take(disk: Disk, { real, found, verdict }: Step): Promise<Outcome> {
  if ('after' in verdict) return replaceFile(disk, { real, found, after: verdict.after })
  if (verdict.will !== 'remove') return 'already'
  await removeFile(disk, real, found)
  return 'written'
}

const failureAt = ({ shown: path }: Step, error: unknown): Failure =>
  error instanceof ChangedMeanwhile
    ? { path, code: 'CONFLICT', why: 'was changed by somebody else during the install' }
    : { path, code: 'UNEXPECTED', why: `could not be written: ${sentenceFor(error)}` }
