import { sql } from '../../../../db/drizzle.ts'
import type { Storage } from '../../dependencies.ts'
import type { WithDirectory } from '../../directory/index.ts'
import { read, type Verb } from '../../verb.ts'
import { OPEN_CIRCUITS, QUEUE_ROWS_MAX, readMessageQueue, type MessageQueue } from './read-message-queue.ts'

export const showMessageQueue: Verb<'showMessageQueue', WithDirectory> = read(
  'principal',
  async (context) => {
    const { db, directory } = context
    const { organizations, ...all } = await readMessageQueue(context)
    return {
      ...present(all),
      organizations: await Promise.all(
        organizations.map(async ({ orgId, ...size }) => ({
          id: orgId,
          name: (await directory.readOrganization(db, orgId))?.name ?? null,
          ...present(size),
        })),
      ),
      circuits: await openCircuits(context),
    }
  },
)

const present = (size: Omit<MessageQueue, 'organizations'>) => ({
  due: size.due,
  in_flight: size.inFlight,
  events_waiting: size.eventsWaiting,
  circuits_open: size.circuitsOpen,
  waiting_since: size.waitingSince?.toISOString() ?? null,
})

type Circuit = {
  readonly organization_id: string
  readonly target: string
  readonly unanswered: number
  readonly next_probe_at: string | null
}

async function openCircuits({ db }: Storage): Promise<Circuit[]> {
  const rows = await db.execute<Circuit>(sql`
    select org_id as organization_id, target, unanswered, probe_at as next_probe_at from (${OPEN_CIRCUITS}) circuits
    order by unanswered desc, org_id, target limit ${sql.raw(String(QUEUE_ROWS_MAX))}`)
  return rows.map((row) => ({
    ...row,
    next_probe_at: row.next_probe_at && new Date(row.next_probe_at).toISOString(),
  }))
}
