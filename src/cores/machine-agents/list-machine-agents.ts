import { and, eq, ilike, lt, or } from '../../../db/drizzle.ts'
import { machineAgents } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import type { Storage } from '../dependencies.ts'
import { likePattern } from '../like-pattern.ts'
import { requireMember } from '../principal.ts'
import { ONE_ROW, totalOf } from '../total-of.ts'
import { agentRows, isVisible, presentAgents } from './machine-agent-rows.ts'

export const listMachineAgents =
  ({ db, clock }: Storage): Handler<'listMachineAgents'> =>
  async (principal, { search, limit, cursor, count }) => {
    const member = requireMember(principal)
    const before = readCursor(cursor, 1)?.[0]
    const matching = and(isVisible(member), search ? isFoundBy(search) : undefined)
    const rows = await agentRows(
      db,
      and(matching, before === undefined ? undefined : lt(machineAgents.id, before)),
    ).limit(limit + 1)
    const page = pageOf(rows, limit, ({ agent }) => [agent.id])
    const counted = await totalOf(db, { count, cursor }, page, () =>
      db.select(ONE_ROW).from(machineAgents).where(matching),
    )
    return {
      machine_agents: await presentAgents({ db, clock }, member, page.rows),
      next_cursor: page.next_cursor,
      ...counted,
    }
  }

const isFoundBy = (search: string) =>
  or(
    ilike(machineAgents.name, likePattern(search)),
    eq(machineAgents.id, search),
    eq(machineAgents.clientId, search),
  )
