/** Why tests are left out, where many have the same reason; test/repository/left-out.test.ts wants one for every other. */
import { inject } from 'vitest'

/** The embedded database has one connection: nothing happens there at the same moment, and nothing waits for a lock. */
export const hasOneConnection = inject('engine') === 'pglite'

/** A pooler in transaction mode passes on no notifications. */
export const hearsNothing = inject('isPooled')
