/** Files that become tables of managed databases: how far each is. What is staged of them lies in the managed database. */
import type { LoadFailure, LoadPhase, LoadState, LoadWait } from '../../src/contracts/loads.ts'
import type { LoadFormat, LoadType } from '../../src/contracts/load-formats.ts'
import type { Role } from '../../src/contracts/roles.ts'
import {
  bigint,
  boolean,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  sql,
  text,
} from '../drizzle.ts'
import { instant, orgId } from './columns.ts'
import { dataSources } from './data-sources.ts'

const count = (name: string) => bigint(name, { mode: 'number' }).notNull().default(0)

/** As it was started, with the columns of the table that it becomes. */
export type StoredPlan = {
  readonly table: string
  readonly append: boolean
  /** By the id: rows that are there are changed, others added. */
  readonly upsert?: boolean | undefined
  /** What is there goes, and is kept beside it for some days. */
  readonly replace?: boolean | undefined
  /** With `upsert`: rows that the file does not have go. */
  readonly deleteMissing?: boolean | undefined
  /** Only the numbers of what would change. */
  readonly dryRun?: boolean | undefined
  /** Known once all rows are compared with those of the table. */
  readonly changes?: LoadChanges | undefined
  /** Rows whose text is longer than the built-in model reads. */
  readonly longRows?: number | undefined
  /** Some rows may be: after their vectors they are divided into passages, up to this one. */
  readonly passages?: { readonly upTo: number; readonly isDivided?: true } | undefined
  /** The version before is back. */
  readonly isUndone?: boolean | undefined
  /** When that was last changed. */
  readonly undoneAt?: string | undefined
  readonly model: string
  readonly dimensions: number
  readonly language: string
  readonly saveConfiguration: boolean
  /** Of the file, in its order; types are known once all rows are read. */
  readonly columns: readonly StoredColumn[]
  /** Positions in `columns`; -1: the number of the row. */
  readonly id: number
  readonly title: number | null
  readonly embed: readonly number[]
  /** Undefined: all but those of texts. */
  readonly filters?: readonly number[] | undefined
  readonly delimiter: string
  /** Somebody said so. */
  readonly isDelimiterChosen?: true | undefined
  /** Undefined: UTF-8. */
  readonly encoding?: 'utf-16le' | 'utf-16be' | undefined
  /** Of a workbook. */
  readonly sheet?: string | undefined
  /** Of a workbook or a Parquet file: bytes of its rows as NDJSON, which lie behind it. */
  readonly converted?: number | undefined
  /** How often that was begun, and not ended: each time the process has died meanwhile. */
  readonly conversionsBegun?: number | undefined
  /** Of a sync of documents. */
  readonly sync?: StoredSync | undefined
  /** With whose rights it runs. */
  readonly author: {
    readonly userId: string
    readonly userName: string
    readonly role: Role
    readonly kind: 'user' | 'cli_session' | 'api_token'
    readonly tokenId?: string | undefined
    readonly cliSessionId?: string | undefined
    readonly requestId: string
  }
}
export type LoadChanges = { readonly added: number; readonly changed: number; readonly gone: number }
export type StoredSync = {
  /** What the server lacked: the first so many of its list. */
  readonly sent: number
  /** Documents that are gone stay. */
  readonly keep: boolean
  /** The version that it was compared with. */
  readonly base: number
  /** It changes who sees documents that it does not send. */
  readonly isAdmins?: boolean | undefined
}
export type ColumnType = 'text' | 'numeric' | 'boolean' | 'date' | 'timestamp' | 'time' | 'text[]' | 'jsonb'
export type StoredColumn = {
  readonly name: string
  readonly header: string
  readonly type?: ColumnType
  /** How its values are written: chosen, or found once all rows are read. */
  readonly kind?: LoadType | undefined
  /** It was chosen. */
  readonly isChosen?: true
  /** Its values are lists, as the first rows of the file have shown. */
  readonly isList?: true
  /** Of objects or lists: kept as JSON. */
  readonly isJson?: true
}

export const loads = pgTable(
  'loads',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    sourceId: text('source_id').notNull(),
    filename: text('filename').notNull(),
    format: text('format').$type<LoadFormat | 'documents'>().notNull(),
    bytes: bigint('bytes', { mode: 'number' }).notNull(),
    sha256: text('sha256').notNull(),
    received: count('received'),
    state: text('state').$type<LoadState>().notNull(),
    phase: text('phase').$type<LoadPhase>(),
    plan: jsonb('plan').$type<StoredPlan>(),
    /** Where reading goes on: the first byte and the line of the next row. */
    readBytes: count('read_bytes'),
    readLines: count('read_lines'),
    rows: count('rows'),
    embedded: count('embedded'),
    problems: jsonb('problems').$type<readonly string[]>().notNull().default([]),
    problemCount: integer('problem_count').notNull().default(0),
    failure: text('failure').$type<LoadFailure>(),
    configurationSaved: boolean('configuration_saved').notNull().default(false),
    waitsFor: text('waits_for').$type<LoadWait>(),
    waitsUntil: instant('waits_until'),
    failingSince: instant('failing_since'),
    /** Something of it lies in the managed database. */
    isStaged: boolean('is_staged').notNull().default(false),
    leaseToken: text('lease_token'),
    leaseUntil: instant('lease_until'),
    /** When a step of it was last taken: whoever waited longest is next. */
    workedAt: instant('worked_at'),
    createdBy: text('created_by').notNull(),
    createdByName: text('created_by_name').notNull(),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
    finishedAt: instant('finished_at'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    index('loads_by_source').on(t.orgId, t.sourceId, t.id),
    index('loads_unfinished')
      .on(t.state, t.workedAt)
      .where(sql`state in ('uploading', 'running') or is_staged`),
    foreignKey({
      columns: [t.orgId, t.sourceId],
      foreignColumns: [dataSources.orgId, dataSources.id],
    }).onDelete('cascade'),
  ],
)

/** Tokens that an organization has embedded on this day: one row that all processes share. */
export const embeddingCounts = pgTable('embedding_counts', {
  orgId: orgId().primaryKey(),
  day: instant('day').notNull(),
  tokens: bigint('tokens', { mode: 'number' }).notNull(),
})
