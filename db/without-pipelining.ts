/**
 * Behind a pooler a connection may send nothing before the answer to its last query has come: PgBouncer (1.18) gives the
 * session to others when it sees the answer, and that to the second query never arrives. The driver does so whenever it has
 * more queries than connections, and has no setting against it. So it gets no more than it has connections for.
 */
import type postgres from 'postgres'

/** What the driver's types leave out. */
type DriverQuery = {
  handler: (query: DriverQuery) => void
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}
type Work = (tx: postgres.TransactionSql) => unknown

export function withoutPipelining(client: postgres.Sql, connections: number): postgres.Sql {
  const places = limitPlaces(connections)
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
      waitForPlace(query as unknown as DriverQuery, places)
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

/** A query begins when somebody waits for it, and is over with its answer. */
function waitForPlace(query: DriverQuery, places: Places): void {
  const { handler, resolve, reject } = query
  let hasPlace = false
  const leave = () => {
    if (hasPlace) places.leave()
    hasPlace = false
  }
  query.handler = (started) => {
    void places.enter().then(() => {
      hasPlace = true
      handler(started)
    })
  }
  query.resolve = (value) => {
    leave()
    resolve(value)
  }
  query.reject = (error) => {
    leave()
    reject(error)
  }
}

type Places = ReturnType<typeof limitPlaces>

function limitPlaces(max: number) {
  const waiting: (() => void)[] = []
  let taken = 0
  return {
    async enter(): Promise<void> {
      if (taken < max) return void (taken += 1)
      await new Promise<void>((resolve) => void waiting.push(resolve))
    },
    /** The place goes to the next in line. */
    leave(): void {
      const next = waiting.shift()
      if (next) next()
      else taken -= 1
    },
  }
}
