/** `svc skills …`: the skills that come with this client. No network, no login. */
import { ServiceError } from '../../contracts/errors.ts'
import type { Skill } from '../../skills/bundle.ts'
import { readPublishedSkills } from '../../skills/read-published.ts'
import type { Run } from '../command.ts'
import { applyPlan, linesOf, objectionTo, planInstall, statusOf, tryPlan } from '../install/install-skill.ts'
import { argument, isSet } from '../options.ts'
import { onOneLine } from '../terminal-text.ts'
import type { World } from '../world.ts'

export const listSkills: Run = async (world) => {
  const skills = installable().map(({ id, version, description }) => ({ id, version, description }))
  world.print(
    { skills },
    { columns: ['ID', 'DESCRIPTION'], rows: skills.map(({ id, description }) => [id, description]) },
  )
}

export const installSkill: Run = async (world, call) => {
  const skill = installableNamed(argument(call, 'id'))
  const force = isSet(call, 'force')
  const plan = await planInstall(skill, whereFor(world, isSet(call, 'user'), !isSet(call, 'no-agents')))
  const report = isSet(call, 'dry-run') ? tryPlan(plan, { force }) : await applyPlan(plan, { force })
  world.print(report, {
    text: linesOf(report)
      .map((line) => `${line}\n`)
      .join(''),
  })
  const objection = objectionTo(report)
  if (objection) throw objection
  if (report.dry_run) world.say('Nothing was written: this is what would be.')
}

export const showSkill: Run = async (world, call) => {
  const skill = skillNamed(readPublishedSkills().skills, argument(call, 'id'))
  const path = call.args['file'] ?? 'SKILL.md'
  const file = skill.files.find((candidate) => candidate.path === path)
  if (!file) {
    throw new ServiceError('NOT_FOUND', `The skill ${skill.id} has no file ${path}`, {
      hint: `It has: ${skill.files.map((candidate) => candidate.path).join(', ')}`,
    })
  }
  const text = Buffer.from(file.bytes).toString('utf8')
  world.print({ id: skill.id, path, sha256: file.sha256, text }, { text })
}

export const skillStatus: Run = async (world, call) => {
  const id = call.args['id']
  const where = whereFor(world, isSet(call, 'user'), !isSet(call, 'no-agents'))
  const skills = []
  for (const skill of id === undefined ? installable() : [installableNamed(id)]) {
    skills.push(statusOf(await planInstall(skill, where)))
  }
  world.print(
    { skills },
    {
      columns: ['SKILL', 'PLACE', 'STATE'],
      rows: skills.flatMap(({ id, targets, agents_files }) => [
        ...targets.map(({ dir, state }) => [id, dir, state]),
        ...agents_files.map(({ path, state }) => [id, path, state]),
      ]),
    },
  )
  const behind = skills.filter(({ state }) => state !== 'current')
  // A skill that nobody installed is no drift, unless it was asked for by name.
  const drifted = behind.filter(({ state }) => state !== 'missing' || id !== undefined)
  for (const { id } of drifted) world.say(`To bring it up to date: svc skills install ${onOneLine(id)}`)
  return drifted.length > 0 ? DRIFTED : 0
}

/** What the contract calls a conflict: somebody else's content lies where ours belongs. */
const DRIFTED = 6

const whereFor = ({ machine }: World, user: boolean, agents: boolean) => ({
  cwd: machine.cwd,
  home: machine.home,
  user,
  agents,
})

const installable = (): Skill[] => readPublishedSkills().skills.filter((skill) => skill.installable)

function skillNamed<S extends Skill>(skills: readonly S[], id: string): S {
  const skill = skills.find((candidate) => candidate.id === id)
  if (skill) return skill
  throw new ServiceError('NOT_FOUND', `There is no skill ${id}`, {
    hint: `There are: ${skills.map((candidate) => candidate.id).join(', ')}`,
  })
}

function installableNamed(id: string): Skill {
  const all = readPublishedSkills().skills
  const skill = all.find((candidate) => candidate.id === id)
  if (!skill || skill.installable) return skillNamed(installable(), id)
  throw new ServiceError('NOT_FOUND', `The skill ${id} is not one to install`, {
    hint: `Your instance serves it at /.well-known/agent-skills/${id}/SKILL.md; here: svc skills show ${id}`,
  })
}
