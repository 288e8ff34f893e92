/**
 * The query builder, loaded as CommonJS. As ES modules it costs a start 0.8 s of CPU: for each of drizzle's 110 files
 * Node 24 parses its package.json anew, which is 178 KB of exports. Everything else imports drizzle from here.
 */
import { createRequire } from 'node:module'

// drizzle-kit compiles this file to CommonJS, where there is no import.meta.
const require = createRequire(import.meta.url ?? __filename)

export const {
  and,
  arrayOverlaps,
  asc,
  count,
  desc,
  eq,
  exists,
  gt,
  gte,
  ilike,
  inArray,
  is,
  isNotNull,
  isNull,
  like,
  lt,
  lte,
  max,
  min,
  ne,
  not,
  notExists,
  or,
  sql,
  getTableColumns,
  getTableName,
  Column: columnKind,
  DrizzleQueryError: QueryError,
  Param: paramKind,
  Placeholder: placeholderKind,
  SQL: sqlKind,
} = require('drizzle-orm') as typeof import('drizzle-orm')
const pgCore = require('drizzle-orm/pg-core') as typeof import('drizzle-orm/pg-core')
export const {
  PgTransaction,
  alias,
  bigint,
  boolean,
  check,
  date,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
  timestamp,
  uniqueIndex,
} = pgCore
export const { drizzle } = require('drizzle-orm/postgres-js') as typeof import('drizzle-orm/postgres-js')

/** Bytes, as the driver reads and writes them. */
export const bytea = pgCore.customType<{ data: Buffer; driverData: Buffer }>({ dataType: () => 'bytea' })
