/** `svc skills …`: the bundled skills. Needs no network and no login. */
import { ERRORS, ServiceError } from '../../contracts/errors.ts'
import type { Skill } from '../../skills/bundle.ts'
import { readPublishedSkills } from '../../skills/read-published.ts'
import type { CommandContext } from '../command-context.ts'
import type { Run } from '../command.ts'
import {
  applyPlan,
  formatReport,
  installError,
  planInstall,
  statusOf,
  dryRunPlan,
} from '../install/install-skill.ts'
import { tableOf } from '../format-output.ts'
import { argument, isSet } from '../options.ts'

export const listSkills: Run = async (ctx) => {
  const skills = installable().map(({ id, version, description }) => ({ id, version, description }))
  ctx.print({ skills }, tableOf(skills, { ID: 'id', DESCRIPTION: 'description' }))
}

export const installSkill: Run = async (ctx, input) => {
  const skill = installableNamed(argument(input, 'id'))
  const force = isSet(input, 'force')
  const plan = await planInstall(skill, installOptions(ctx, isSet(input, 'user'), !isSet(input, 'no-agents')))
  const report = isSet(input, 'dry-run') ? dryRunPlan(plan, { force }) : await applyPlan(plan, { force })
  ctx.print(report, {
    text: formatReport(report)
      .map((line) => `${line}\n`)
      .join(''),
  })
  const error = installError(report)
  if (error) throw error
  if (report.dry_run) ctx.info('Dry run: nothing was written.')
}

export const showSkill: Run = async (ctx, input) => {
  const skill = skillNamed(readPublishedSkills().skills, argument(input, 'id'))
  const path = input.args['file'] ?? 'SKILL.md'
  const file = skill.files.find((candidate) => candidate.path === path)
  if (!file) {
    throw new ServiceError('NOT_FOUND', `Skill ${skill.id} has no file ${path}`, {
      hint: `Available: ${skill.files.map((candidate) => candidate.path).join(', ')}`,
    })
  }
  const text = Buffer.from(file.bytes).toString('utf8')
  ctx.print({ id: skill.id, path, sha256: file.sha256, text }, { text })
}

export const skillStatus: Run = async (ctx, input) => {
  const id = input.args['id']
  const where = installOptions(ctx, isSet(input, 'user'), !isSet(input, 'no-agents'))
  const skills = []
  for (const skill of id === undefined ? installable() : [installableNamed(id)]) {
    skills.push(statusOf(await planInstall(skill, where)))
  }
  ctx.print(
    { skills },
    {
      columns: ['SKILL', 'PATH', 'STATE'],
      rows: skills.flatMap(({ id, targets, agents_files }) => [
        ...targets.map(({ dir, state }) => [id, dir, state]),
        ...agents_files.map(({ path, state }) => [id, path, state]),
      ]),
    },
  )
  // A skill that was never installed is not out of date, unless it was asked for by name.
  const outdated = skills.filter(
    ({ state }) => state !== 'current' && (state !== 'missing' || id !== undefined),
  )
  for (const { id } of outdated) ctx.info(`Update with: svc skills install ${id}`)
  return outdated.length > 0 ? ERRORS.CONFLICT.exit : 0
}

const installOptions = ({ environment }: CommandContext, user: boolean, agents: boolean) => ({
  cwd: environment.cwd,
  home: environment.home,
  user,
  agents,
})

const installable = (): Skill[] => readPublishedSkills().skills.filter((skill) => skill.installable)

function skillNamed<S extends Skill>(skills: readonly S[], id: string): S {
  const skill = skills.find((candidate) => candidate.id === id)
  if (skill) return skill
  throw new ServiceError('NOT_FOUND', `Unknown skill: ${id}`, {
    hint: `Available: ${skills.map((candidate) => candidate.id).join(', ')}`,
  })
}

function installableNamed(id: string): Skill {
  const all = readPublishedSkills().skills
  const skill = all.find((candidate) => candidate.id === id)
  if (!skill || skill.installable) return skillNamed(installable(), id)
  throw new ServiceError('NOT_FOUND', `Skill ${id} cannot be installed`, {
    hint: `Your instance serves it at /.well-known/agent-skills/${id}/SKILL.md. Print it with: svc skills show ${id}`,
  })
}
