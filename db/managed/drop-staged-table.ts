/**
 * The only statement that writes to a managed database with our own login (question-role.ts). A tenant may have put a
 * trigger, a rule or a policy on anything there, and would have our login by what it runs: dropping a table runs none of
 * them. Event triggers, which are for superusers, and its own objects in the place of ours do not change that.
 */
import { quoteIdentifier } from './quote-identifier.ts'

/** Of everything that loads stage. Nobody searches it. */
export const STAGING_SCHEMA = 'svc_loads'

export const stagingName = (name: string): string => `${STAGING_SCHEMA}.${quoteIdentifier(name)}`

/**
 * Of two processes that come to the same statement of a load, one waits for the other: a server goes on with a statement
 * after whoever sent it was killed. Qualified: a tenant may have functions of these names. Ids are letters and digits of
 * ours, and nothing in the statements may end the quote.
 */
export const oneAtATime = (loadId: string, statements: string): string =>
  `do $svc$ begin perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('svc load ${loadId}', 0)); ${statements} end $svc$`

/** With whatever a tenant has made depend on it. */
export const dropStagedTable = (loadId: string, name: string): string =>
  oneAtATime(loadId, `drop table if exists ${stagingName(name)} cascade;`)

const escaped = (text: string): string => text.replaceAll(/[$()[\]{}.*+?^|\\]/g, String.raw`\$&`)
const DROPS_STAGED_TABLE = new RegExp(
  `^${escaped(dropStagedTable('ID', 'NAME'))
    .replace('ID', String.raw`\w+`)
    .replace('NAME', String.raw`\w+`)}$`,
)

/** Of pg_stat_activity. Not by the name of its application: whoever has taken over a session can change that. */
export const dropsStagedTable = (query: string): boolean => DROPS_STAGED_TABLE.test(query)
