/** Queries of the hot path are built once per connection: for small ones building costs more than running. */
import type { Handle } from '../../db/connect.ts'
import { directQuery } from '../../db/direct-query.ts'

type Runnable = { execute(values?: Record<string, unknown>): Promise<unknown> }

/** A transaction is a handle of its own and builds its own. */
export function preparedQuery<Query extends Runnable>(build: (db: Handle) => Query): (db: Handle) => Query {
  const queries = new WeakMap<Handle, Query>()
  return (db) => {
    const query = queries.get(db) ?? directQuery(build(db))
    queries.set(db, query)
    return query
  }
}
