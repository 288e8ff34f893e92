/**
 * Acts on something by its name, as Ctrl-K finds them: "run shop", "pause billing", "revoke desk". Those that are sent at once
 * are found only by a name, and only where they change something.
 */
import { randomUUID } from 'node:crypto'
import { listGrants } from '../../../contracts/grants.ts'
import { listIntegrations } from '../../../contracts/integrations.ts'
import { PAGE_MAX } from '../../../contracts/limits.ts'
import { listAppMaintenance } from '../../../contracts/maintenance.ts'
import { actsFor, isAskedFor, type Act } from '../../acts.ts'
import { hasRole, type ConsoleSession } from '../../context.ts'
import { agentPath } from '../agents/agent-labels.ts'
import { clientLabel, clientOf } from '../agents/client-labels.ts'
import { INTEGRATIONS_PATH } from '../integrations/integration-labels.ts'
import { mayMaintain, tabPathOf } from '../maintenance/maintenance-labels.ts'

/** Of each verb: more do not fit, and one more letter finds better. */
const LIMIT = 5

type FindActs = (session: ConsoleSession, name: string) => Promise<Act[]>

const VERBS: Readonly<Record<string, FindActs>> = {
  run: findRuns,
  pause: (session, name) => findPauses(session, name, 'Pause'),
  resume: (session, name) => findPauses(session, name, 'Resume'),
  retry: findRetries,
  recover: findRetries,
  narrow: (session, name) => findAgents(session, name, 'Narrow'),
  revoke: (session, name) => findAgents(session, name, 'Revoke'),
  disconnect: (session, name) => findAgents(session, name, 'Revoke'),
}

export async function findActs(session: ConsoleSession, query: string): Promise<Act[]> {
  const own = actsFor(session).filter(({ label }) => isAskedFor(label, query))
  const [, verb = '', name = ''] = /^(\S+)\s*(.*)$/s.exec(query.toLowerCase()) ?? []
  const find = Object.hasOwn(VERBS, verb) ? VERBS[verb] : undefined
  if (!find || session.support !== undefined) return own
  return [...(await find(session, name)).slice(0, LIMIT), ...own]
}

const isNamed = (words: string, name: string): boolean => words.toLowerCase().includes(name)

async function findRuns(session: ConsoleSession, name: string): Promise<Act[]> {
  if (name === '' || !mayMaintain(session) || session.organization === null) return []
  const asked = { org_id: session.organization.id, enabled: 'true', limit: PAGE_MAX }
  const { apps } = await session.call(listAppMaintenance, asked)
  return apps
    .filter((one) => isNamed(`${one.app} ${one.name}`, name))
    .map((one) => ({
      label: `Run maintenance of ${one.name}`,
      href: `${tabPathOf(one.app)}/runs`,
      note: one.app,
      // Of this answer: sent twice, it starts one run.
      sent: { name: 'key', value: randomUUID() },
    }))
}

async function findIntegrations(session: ConsoleSession, name: string) {
  if (!hasRole(session, 'admin')) return []
  const { integrations } = await session.call(listIntegrations, {})
  return integrations.filter((one) => isNamed(one.name, name))
}

async function findPauses(session: ConsoleSession, name: string, verb: 'Pause' | 'Resume'): Promise<Act[]> {
  if (name === '') return []
  const [state, value] = verb === 'Pause' ? ['active', 'yes'] : ['paused', 'no']
  return (await findIntegrations(session, name))
    .filter((one) => one.state === state)
    .map((one) => ({
      label: `${verb} ${one.name}`,
      href: `${INTEGRATIONS_PATH}/${one.id}/pause`,
      note: 'Integration',
      sent: { name: 'pause', value },
    }))
}

/** The page asks since when. */
async function findRetries(session: ConsoleSession, name: string): Promise<Act[]> {
  return (await findIntegrations(session, name))
    .filter(({ state }) => state === 'active')
    .map(({ id, name: label }) => ({
      label: `Retry deliveries of ${label}`,
      href: `${INTEGRATIONS_PATH}/${id}#recover`,
      note: 'Integration',
    }))
}

/** One's own, or of everybody for those who may; the page asks before it ends one. */
async function findAgents(
  session: ConsoleSession,
  search: string,
  verb: 'Narrow' | 'Revoke',
): Promise<Act[]> {
  const all = String(hasRole(session, 'admin'))
  const { grants } = await session.call(listGrants, { all, ...(search && { search }), limit: LIMIT })
  return grants.map((grant) => ({
    label: `${verb} ${clientLabel(clientOf(grant))}`,
    href: `${agentPath(grant.id)}${verb === 'Revoke' ? '#disconnect' : ''}`,
    note: grant.user.name,
  }))
}
