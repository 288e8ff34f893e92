/** Queries of the hot path are built once per connection: for small ones building costs more than running. */
import type { Handle } from '../../db/connect.ts'

/** A transaction is a handle of its own and builds its own. */
export function preparedQuery<Query>(build: (db: Handle) => Query): (db: Handle) => Query {
  const queries = new WeakMap<Handle, Query>()
  return (db) => {
    const query = queries.get(db) ?? build(db)
    queries.set(db, query)
    return query
  }
}
