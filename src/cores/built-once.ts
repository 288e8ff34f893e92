/** Queries that every call needs are written out once a connection: for small ones that costs more than running them. */
import type { Handle } from '../../db/connect.ts'

/** A transaction is a handle of its own and gets its own, which is forgotten with it. */
export function builtOnce<Query>(build: (db: Handle) => Query): (db: Handle) => Query {
  const built = new WeakMap<Handle, Query>()
  return (db) => {
    const known = built.get(db) ?? build(db)
    built.set(db, known)
    return known
  }
}
