/**
 * A change that waits for a standby may wait for long: for as long as that hangs. Whatever changes nothing, or commits locally,
 * goes on meanwhile, so some connections are kept for it, and on those of the others nothing is sent behind a change.
 */
import type postgres from 'postgres'
import { isLocal, SERVER } from './commit-locally.ts'
import { currentCall } from './current-call.ts'
import { mayChange, type Gate } from './database-away.ts'
import { limitPlaces } from './places.ts'
import { waitForPlace } from './wait-for-place.ts'

type Work = (tx: postgres.TransactionSql) => unknown

/** Commits what is nothing, and so waits until the standby has all that was committed before. */
export const CONFIRM = `select pg_logical_emit_message(true, 'svc', 'confirm')::text as at, ${SERVER} as server`

/** Of the connections of a pool. */
const keptForOthers = (connections: number): number => (connections >= 4 ? 2 : connections >= 2 ? 1 : 0)

export function keepingConnections(client: postgres.Sql, connections: number, gate: Gate): postgres.Sql {
  const places = limitPlaces(connections - keptForOthers(connections), gate)
  const unsafe = client.unsafe.bind(client)
  const begin = client.begin.bind(client)
  return Object.assign(client, {
    unsafe(...[text, parameters, options]: Parameters<typeof unsafe>) {
      if (!isDurable(text)) return unsafe(text, parameters, options)
      // The driver then gives its connection nothing else until it is done; its types leave it out.
      const alone = { ...options, onexecute: () => false }
      const query = unsafe(text, parameters, alone)
      waitForPlace(query, places)
      return query
    },
    async begin(work: Work): Promise<unknown> {
      if (currentCall()?.durability === 'local') return begin(work)
      await places.enter()
      try {
        return await begin(work)
      } finally {
        places.leave()
      }
    },
  })
}

function isDurable(text: string): boolean {
  if (text === CONFIRM) return true
  return currentCall()?.durability !== 'local' && mayChange(text) && !isLocal(text)
}
