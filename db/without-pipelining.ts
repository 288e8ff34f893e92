/**
 * Behind a pooler a connection may send nothing before the answer to its last query has come: PgBouncer (1.18) gives the
 * session to others when it sees the answer, and that to the second query never arrives. The driver does so whenever it has
 * more queries than connections, and has no setting against it. So it gets no more than it has connections for.
 */
import type postgres from 'postgres'
import type { Gate } from './database-away.ts'
import { limitPlaces } from './places.ts'
import { waitForPlace } from './wait-for-place.ts'

type Work = (tx: postgres.TransactionSql) => unknown

export function withoutPipelining(
  client: postgres.Sql,
  connections: number,
  gate: Gate | undefined,
): postgres.Sql {
  const places = limitPlaces(connections, gate)
  const unsafe = client.unsafe.bind(client)
  const begin = client.begin.bind(client)
  let isBeginning = false

  /** The driver sends its BEGIN by `unsafe`, before it returns: that query has the place of its transaction. */
  function beginNow(work: Work): Promise<unknown> {
    isBeginning = true
    try {
      return begin(work)
    } finally {
      isBeginning = false
    }
  }

  return Object.assign(client, {
    unsafe(...args: Parameters<typeof unsafe>) {
      const query = unsafe(...args)
      if (isBeginning) return query
      waitForPlace(query, places)
      return query
    },
    // Within it the session is its own, and the driver may send as it likes.
    async begin(work: Work): Promise<unknown> {
      await places.enter()
      try {
        return await beginNow(work)
      } finally {
        places.leave()
      }
    },
  })
}
